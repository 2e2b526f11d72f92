"""The thread pool's code, in LLVM's assembly: see `pool.py` for what it is and does.

Each thread that starts a team owns a pool, a record of `_SIZE` bytes; each of its workers has a record of its own, whose
first bytes are alike. Who a thread is (`who`) is found by a key of pthreads.

    tid      the thread's number in the team that it works for now; size: that team's; 1 outside of one
    active   whether it works for a team of several threads: what it starts then runs on itself alone
    depth    how many teams are entered; saved: (tid, size) of those outside the innermost
    team     the record of the thread that started the team
    loop     iterations, start, step, chunk and turn of a shared loop (GOMP_loop_static_*)

of a pool only:

    function, data, members   what the team runs, and how many threads it is for
    made     how many workers there are; stop: whether they are to end; refs: records that are still in use
    epoch    number of the latest team, on which idle workers sleep; sleepers: how many do
    done     how many workers have finished their part; waiting: whether the starter sleeps until all have
    arrived, turn   of the barrier
    tickets  one for each thread: twice the epoch once its part is to be done, one more when a thread has taken it; and
             the next piece of this thread's block of a shared loop

What a thread asks outside of the pool's teams goes to libgomp: another thread may be in the middle of one of its teams while
the pool takes over.

A part that no worker has taken when the starter is done with its own is done by the starter: a worker that the system
does not let run delays no other. Where a kernel waits for other parts at a barrier, the starter gets beyond it only when
every part has been taken by a thread.
"""

from __future__ import annotations

import platform

TID, SIZE, ACTIVE, DEPTH, TEAM = 0, 4, 8, 12, 16
LOOP_COUNT, LOOP_START, LOOP_STEP, LOOP_CHUNK, LOOP_TURN = 24, 32, 40, 48, 56
SAVED, _DEEPEST = 64, 16
FUNCTION, DATA, MADE, STOP, REFS, MEMBERS = 192, 200, 208, 212, 216, 220
EPOCH, SLEEPERS = 256, 260
DONE, WAITING = 320, 324
ARRIVED, TURN = 384, 388
TICKETS, STEP = 448, 64  # a line of the cache each
NEXT = 8  # within a ticket's line
MOST = 1024  # threads of a team
_SIZE = TICKETS + STEP * MOST
_JOIN_NS = 20_000  # the starter spins for so long before it sleeps

_ARM = platform.machine() in ("aarch64", "arm64")
_FUTEX = 98 if _ARM else 202
_WAIT, _WAKE = 9 | 128, 10 | 128  # with a set of bits, within the process
_PAUSE = "call void @llvm.aarch64.hint(i32 1)" if _ARM else "call void @llvm.x86.sse2.pause()"


def field(name: str, offset: int, record: str = "%me") -> str:
    return f"  %{name} = getelementptr i8, ptr {record}, i64 {offset}\n"


def asked(kind: str, name: str, parameters: str = "") -> str:
    """The beginning of a function of OpenMP: outside of the pool's teams libgomp's answers; else %me is the thread's record."""
    theirs = f"call {kind} @libgomp_{name}({parameters})"
    answer = f"  {theirs}\n  ret void" if kind == "void" else f"  %theirs = {theirs}\n  ret {kind} %theirs"
    return (
        f"define {kind} @{name}({parameters}) #0 {{\nentry:\n  %me = call ptr @member()\n  %outside = icmp eq ptr %me, null\n"
        f"  br i1 %outside, label %other, label %ours\nother:\n{answer}\nours:\n"
    )


DECLARATIONS = f"""
declare {_PAUSE[5:].replace("i32 1", "i32")}
declare i64 @syscall(i64, ...)
declare i32 @sched_yield()
declare i32 @clock_gettime(i32, ptr)
declare i32 @posix_memalign(ptr, i64, i64)
declare ptr @memset(ptr, i32, i64)
declare void @free(ptr)
declare i32 @pthread_key_create(ptr, ptr)
declare ptr @pthread_getspecific(i32)
declare i32 @pthread_setspecific(i32, ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)
declare i32 @omp_get_max_threads()
declare void @libgomp_GOMP_parallel_end()
declare void @libgomp_GOMP_barrier()
declare i1 @libgomp_GOMP_loop_static_start(i64, i64, i64, i64, ptr, ptr)
declare i1 @libgomp_GOMP_loop_static_next(ptr, ptr)
declare void @libgomp_GOMP_loop_end_nowait()
declare i32 @libgomp_omp_get_thread_num()
declare i32 @libgomp_omp_get_num_threads()
declare i32 @libgomp_omp_in_parallel()
declare i32 @llvm.umin.i32(i32, i32)
declare i32 @llvm.umax.i32(i32, i32)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.umax.i64(i64, i64)

@key = internal global i32 0
@spin_ns = internal global i64 0
"""

_BASICS = f"""
define internal i64 @now() #0 {{
  %time = alloca [2 x i64]
  %failed = call i32 @clock_gettime(i32 1, ptr %time)
  %seconds = load i64, ptr %time
  %ns.p = getelementptr i64, ptr %time, i64 1
  %ns = load i64, ptr %ns.p
  %whole = mul i64 %seconds, 1000000000
  %all = add i64 %whole, %ns
  ret i64 %all
}}

define internal void @sleep_while(ptr %place, i32 %value, i32 %bits) #0 {{
  %r = call i64 (i64, ...) @syscall(i64 {_FUTEX}, ptr %place, i32 {_WAIT}, i32 %value, ptr null, ptr null, i32 %bits)
  ret void
}}

define internal void @wake(ptr %place, i32 %bits) #0 {{
  %r = call i64 (i64, ...) @syscall(i64 {_FUTEX}, ptr %place, i32 {_WAKE}, i32 2147483647, ptr null, ptr null, i32 %bits)
  ret void
}}

define internal ptr @ticket_of(ptr %team, i32 %thread) #0 {{
  %t = zext i32 %thread to i64
  %offset = mul i64 %t, {STEP}
  %tickets = getelementptr i8, ptr %team, i64 {TICKETS}
  %ticket = getelementptr i8, ptr %tickets, i64 %offset
  ret ptr %ticket
}}

define internal ptr @record(i64 %bytes) #0 {{
  %place = alloca ptr
  %failed = call i32 @posix_memalign(ptr %place, i64 64, i64 %bytes)
  %bad = icmp ne i32 %failed, 0
  br i1 %bad, label %none, label %clear
clear:
  %me = load ptr, ptr %place
  %same = call ptr @memset(ptr %me, i32 0, i64 %bytes)
{field("size.p", SIZE)}  store i32 1, ptr %size.p
  ret ptr %me
none:
  ret ptr null
}}

; the calling thread's record
define internal ptr @who() #0 {{
  %key = load i32, ptr @key
  %known = call ptr @pthread_getspecific(i32 %key)
  %new = icmp eq ptr %known, null
  br i1 %new, label %make, label %old
old:
  ret ptr %known
make:
  %me = call ptr @record(i64 {_SIZE})
{field("team.p", TEAM)}  store ptr %me, ptr %team.p
{field("refs.p", REFS)}  store i32 1, ptr %refs.p
  %failed = call i32 @pthread_setspecific(i32 %key, ptr %me)
  ret ptr %me
}}

; the calling thread's record if it works for a team of the pool, or null
define internal ptr @member() #0 {{
  %key = load i32, ptr @key
  %me = call ptr @pthread_getspecific(i32 %key)
  %none = icmp eq ptr %me, null
  br i1 %none, label %no, label %look
look:
{field("active.p", ACTIVE)}{field("depth.p", DEPTH)}  %active = load i32, ptr %active.p
  %depth = load i32, ptr %depth.p
  %either = or i32 %active, %depth
  %is = icmp ne i32 %either, 0
  br i1 %is, label %yes, label %no
yes:
  ret ptr %me
no:
  ret ptr null
}}

define internal void @drop(ptr %team) #0 {{
{field("refs.p", REFS, "%team")}  %before = atomicrmw sub ptr %refs.p, i32 1 acq_rel
  %last = icmp eq i32 %before, 1
  br i1 %last, label %give, label %done
give:
  call void @free(ptr %team)
  ret void
done:
  ret void
}}

; a thread that owns a pool ends
define internal void @leave(ptr %me) #0 {{
{field("team.p", TEAM)}  %team = load ptr, ptr %team.p
  %owner = icmp eq ptr %team, %me
  br i1 %owner, label %end, label %done
end:
{field("stop.p", STOP)}  store atomic i32 1, ptr %stop.p seq_cst, align 4
{field("epoch.p", EPOCH)}  %old = atomicrmw add ptr %epoch.p, i32 1 seq_cst
  call void @wake(ptr %epoch.p, i32 -1)
  call void @drop(ptr %me)
  ret void
done:
  ret void
}}

define void @pool_setup(i64 %spin) #0 {{
  store i64 %spin, ptr @spin_ns
  %failed = call i32 @pthread_key_create(ptr @key, ptr @leave)
  ret void
}}

; after a fork: the child has none of the workers
define void @pool_forget() #0 {{
  %key = load i32, ptr @key
  %me = call ptr @pthread_getspecific(i32 %key)
  %none = icmp eq ptr %me, null
  br i1 %none, label %done, label %some
some:
{field("made.p", MADE)}  store i32 0, ptr %made.p
{field("sleepers.p", SLEEPERS)}  store i32 0, ptr %sleepers.p
{field("refs.p", REFS)}  store i32 1, ptr %refs.p
  ret void
done:
  ret void
}}
"""

_WORKER = f"""
define internal ptr @work(ptr %me) #0 {{
entry:
  %key = load i32, ptr @key
  %set = call i32 @pthread_setspecific(i32 %key, ptr %me)
{field("team.p", TEAM)}  %team = load ptr, ptr %team.p
  %tid = load i32, ptr %me
  %ticket = call ptr @ticket_of(ptr %team, i32 %tid)
{field("size.p", SIZE)}{field("active.p", ACTIVE)}{field("epoch.p", EPOCH, "%team")}{field("sleepers.p", SLEEPERS, "%team")}{field("stop.p", STOP, "%team")}{field("done.p", DONE, "%team")}{field("waiting.p", WAITING, "%team")}{field("function.p", FUNCTION, "%team")}{field("data.p", DATA, "%team")}{field("members.p", MEMBERS, "%team")}  %bit.n = and i32 %tid, 31
  %bit = shl i32 1, %bit.n
  %spin = load i64, ptr @spin_ns
  br label %idle

idle:
  %since = call i64 @now()
  br label %look

look:
  %turns = phi i32 [ 0, %idle ], [ %turns.next, %pause ], [ 0, %check.time ]
  %epoch = load atomic i32, ptr %epoch.p seq_cst, align 4
  %v = load atomic i32, ptr %ticket seq_cst, align 4
  %odd = and i32 %v, 1
  %is.odd = icmp ne i32 %odd, 0
  %is.zero = icmp eq i32 %v, 0
  %nothing = or i1 %is.odd, %is.zero
  br i1 %nothing, label %no.part, label %take

take:
  %v.taken = add i32 %v, 1
  %pair = cmpxchg ptr %ticket, i32 %v, i32 %v.taken seq_cst seq_cst
  %mine = extractvalue {{ i32, i1 }} %pair, 1
  br i1 %mine, label %run, label %no.part

run:
  %members = load i32, ptr %members.p
  store i32 %members, ptr %size.p
  store i32 1, ptr %active.p
  %function = load ptr, ptr %function.p
  %data = load ptr, ptr %data.p
  call void %function(ptr %data)
  store i32 0, ptr %active.p
  store i32 1, ptr %size.p
  %before = atomicrmw add ptr %done.p, i32 1 seq_cst
  %waiting = load atomic i32, ptr %waiting.p seq_cst, align 4
  %sleeps = icmp ne i32 %waiting, 0
  br i1 %sleeps, label %tell, label %idle
tell:
  call void @wake(ptr %done.p, i32 -1)
  br label %idle

no.part:
  %stop = load atomic i32, ptr %stop.p seq_cst, align 4
  %ends = icmp ne i32 %stop, 0
  br i1 %ends, label %end, label %on
on:
  %turns.next = add i32 %turns, 1
  %some = icmp ult i32 %turns.next, 32
  br i1 %some, label %pause, label %check.time
pause:
  {_PAUSE}
  br label %look
check.time:
  %now = call i64 @now()
  %waited = sub i64 %now, %since
  %long = icmp ugt i64 %waited, %spin
  br i1 %long, label %sleep, label %look

sleep:
  %n.before = atomicrmw add ptr %sleepers.p, i32 1 seq_cst
  call void @sleep_while(ptr %epoch.p, i32 %epoch, i32 %bit)
  %n.after = atomicrmw sub ptr %sleepers.p, i32 1 seq_cst
  br label %idle

end:
  %unset = call i32 @pthread_setspecific(i32 %key, ptr null)
  call void @drop(ptr %team)
  call void @free(ptr %me)
  ret ptr null
}}

; one more worker; whether there is
define internal i1 @hire(ptr %team) #0 {{
  %handle = alloca i64
{field("made.p", MADE, "%team")}{field("refs.p", REFS, "%team")}  %me = call ptr @record(i64 {FUNCTION})
  %none = icmp eq ptr %me, null
  br i1 %none, label %failed, label %start
start:
  %made = load i32, ptr %made.p
  %tid = add i32 %made, 1
  store i32 %tid, ptr %me
{field("team.p", TEAM)}  store ptr %team, ptr %team.p
  %ticket = call ptr @ticket_of(ptr %team, i32 %tid)
  store atomic i32 0, ptr %ticket seq_cst, align 4
  %more = atomicrmw add ptr %refs.p, i32 1 seq_cst
  %error = call i32 @pthread_create(ptr %handle, ptr null, ptr @work, ptr %me)
  %refused = icmp ne i32 %error, 0
  br i1 %refused, label %give.up, label %made.one
made.one:
  %h = load i64, ptr %handle
  %detached = call i32 @pthread_detach(i64 %h)
  store i32 %tid, ptr %made.p
  ret i1 true
give.up:
  %less = atomicrmw sub ptr %refs.p, i32 1 seq_cst
  call void @free(ptr %me)
  br label %failed
failed:
  ret i1 false
}}
"""

_TEAM = f"""
; enter: remember what the thread is outside
define internal void @push(ptr %me) #0 {{
{field("depth.p", DEPTH)}  %depth = load i32, ptr %depth.p
  %within = icmp ult i32 %depth, {_DEEPEST}
  br i1 %within, label %keep, label %done
keep:
  %d = zext i32 %depth to i64
  %offset = mul i64 %d, 8
{field("saved", SAVED)}  %place = getelementptr i8, ptr %saved, i64 %offset
  %both = load i64, ptr %me
  store i64 %both, ptr %place
  br label %done
done:
  %more = add i32 %depth, 1
  store i32 %more, ptr %depth.p
  ret void
}}

define internal void @pop(ptr %me) #0 {{
{field("depth.p", DEPTH)}  %depth = load i32, ptr %depth.p
  %less = sub i32 %depth, 1
  store i32 %less, ptr %depth.p
  %within = icmp ult i32 %less, {_DEEPEST}
  br i1 %within, label %restore, label %done
restore:
  %d = zext i32 %less to i64
  %offset = mul i64 %d, 8
{field("saved", SAVED)}  %place = getelementptr i8, ptr %saved, i64 %offset
  %both = load i64, ptr %place
  store i64 %both, ptr %me
  br label %done
done:
  ret void
}}

; make the parts known; returns how many threads the team has
define internal i32 @post(ptr %me, ptr %function, ptr %data, i32 %wanted) #0 {{
entry:
{field("made.p", MADE)}{field("function.p", FUNCTION)}{field("data.p", DATA)}{field("members.p", MEMBERS)}{field("done.p", DONE)}{field("epoch.p", EPOCH)}{field("sleepers.p", SLEEPERS)}  %most = call i32 @llvm.umin.i32(i32 %wanted, i32 {MOST})
  br label %enough
enough:
  %made = load i32, ptr %made.p
  %all = add i32 %made, 1
  %ok = icmp uge i32 %all, %most
  br i1 %ok, label %go, label %hire
hire:
  %hired = call i1 @hire(ptr %me)
  br i1 %hired, label %enough, label %go
go:
  %n = call i32 @llvm.umin.i32(i32 %all, i32 %most)
  %alone = icmp ult i32 %n, 2
  br i1 %alone, label %one, label %several
one:
  ret i32 1
several:
  store ptr %function, ptr %function.p
  store ptr %data, ptr %data.p
  store i32 %n, ptr %members.p
  store atomic i32 0, ptr %done.p monotonic, align 4
  %epoch = load atomic i32, ptr %epoch.p monotonic, align 4
  %next = add i32 %epoch, 1
  %even = shl i32 %next, 1
  br label %each
each:
  %t = phi i32 [ 1, %several ], [ %t.next, %each ]
  %ticket = call ptr @ticket_of(ptr %me, i32 %t)
  store atomic i32 %even, ptr %ticket release, align 4
  %t.next = add i32 %t, 1
  %more = icmp ult i32 %t.next, %n
  br i1 %more, label %each, label %posted
posted:
  %before = atomicrmw add ptr %epoch.p, i32 1 seq_cst
  %sleepers = load atomic i32, ptr %sleepers.p seq_cst, align 4
  %asleep = icmp ne i32 %sleepers, 0
  br i1 %asleep, label %call, label %ready
call:
  %few = icmp ult i32 %n, 32
  %shift = select i1 %few, i32 %n, i32 0
  %one.more = shl i32 1, %shift
  %members = sub i32 %one.more, 2
  %bits = select i1 %few, i32 %members, i32 -1
  call void @wake(ptr %epoch.p, i32 %bits)
  br label %ready
ready:
  ret i32 %n
}}

; do what no worker has begun, and wait for the others
define internal void @join(ptr %me) #0 {{
entry:
{field("size.p", SIZE)}{field("epoch.p", EPOCH)}{field("function.p", FUNCTION)}{field("data.p", DATA)}{field("done.p", DONE)}{field("waiting.p", WAITING)}  %n = load i32, ptr %size.p
  %epoch = load atomic i32, ptr %epoch.p monotonic, align 4
  %even = shl i32 %epoch, 1
  %taken = add i32 %even, 1
  %function = load ptr, ptr %function.p
  %data = load ptr, ptr %data.p
  %first = sub i32 %n, 1
  br label %each
each:
  %t = phi i32 [ %first, %entry ], [ %t.next, %next ]
  %others = phi i32 [ 0, %entry ], [ %others.next, %next ]
  %ticket = call ptr @ticket_of(ptr %me, i32 %t)
  %pair = cmpxchg ptr %ticket, i32 %even, i32 %taken seq_cst seq_cst
  %mine = extractvalue {{ i32, i1 }} %pair, 1
  br i1 %mine, label %do, label %other
do:
  store i32 %t, ptr %me
  call void %function(ptr %data)
  br label %next
other:
  br label %next
next:
  %plus = phi i32 [ 0, %do ], [ 1, %other ]
  %others.next = add i32 %others, %plus
  %t.next = sub i32 %t, 1
  %more = icmp ne i32 %t.next, 0
  br i1 %more, label %each, label %wait
wait:
  store i32 0, ptr %me
  %none = icmp eq i32 %others.next, 0
  br i1 %none, label %done, label %begin
begin:
  %quick = load atomic i32, ptr %done.p acquire, align 4
  %finished.quick = icmp eq i32 %quick, %others.next
  br i1 %finished.quick, label %done, label %timed
timed:
  %since = call i64 @now()
  br label %spin
spin:
  %turns = phi i32 [ 0, %timed ], [ %turns.next, %pause ], [ 0, %clock ]
  %so.far = load atomic i32, ptr %done.p acquire, align 4
  %finished = icmp eq i32 %so.far, %others.next
  br i1 %finished, label %done, label %on
on:
  %turns.next = add i32 %turns, 1
  %some = icmp ult i32 %turns.next, 32
  br i1 %some, label %pause, label %clock
pause:
  {_PAUSE}
  br label %spin
clock:
  %now = call i64 @now()
  %waited = sub i64 %now, %since
  %long = icmp ugt i64 %waited, {_JOIN_NS}
  br i1 %long, label %doze, label %spin
doze:
  store atomic i32 1, ptr %waiting.p seq_cst, align 4
  br label %again
again:
  %d = load atomic i32, ptr %done.p seq_cst, align 4
  %all = icmp eq i32 %d, %others.next
  br i1 %all, label %awake, label %sleep
sleep:
  call void @sleep_while(ptr %done.p, i32 %d, i32 -1)
  br label %again
awake:
  store atomic i32 0, ptr %waiting.p seq_cst, align 4
  br label %done
done:
  ret void
}}

define void @GOMP_parallel_start(ptr %function, ptr %data, i32 %threads) #0 {{
  %me = call ptr @who()
{field("size.p", SIZE)}{field("active.p", ACTIVE)}  call void @push(ptr %me)
  %active = load i32, ptr %active.p
  %inside = icmp ne i32 %active, 0
  br i1 %inside, label %alone, label %free
free:
  %any = icmp eq i32 %threads, 0
  br i1 %any, label %ask, label %known
ask:
  %usual = call i32 @omp_get_max_threads()
  br label %known
known:
  %wanted = phi i32 [ %threads, %free ], [ %usual, %ask ]
  %several = icmp ugt i32 %wanted, 1
  br i1 %several, label %team, label %alone
team:
  store i32 1, ptr %active.p
  %n = call i32 @post(ptr %me, ptr %function, ptr %data, i32 %wanted)
  %is.team = icmp ugt i32 %n, 1
  br i1 %is.team, label %begun, label %no.team
no.team:
  store i32 0, ptr %active.p
  br label %alone
begun:
  store i32 0, ptr %me
  store i32 %n, ptr %size.p
  ret void
alone:
  store i32 0, ptr %me
  store i32 1, ptr %size.p
  ret void
}}

{asked("void", "GOMP_parallel_end", "")}{field("size.p", SIZE)}{field("active.p", ACTIVE)}  %n = load i32, ptr %size.p
  %several = icmp ugt i32 %n, 1
  br i1 %several, label %team, label %done
team:
  call void @join(ptr %me)
  store i32 0, ptr %active.p
  br label %done
done:
  call void @pop(ptr %me)
  ret void
}}

define void @GOMP_parallel(ptr %function, ptr %data, i32 %threads, i32 %flags) #0 {{
  call void @GOMP_parallel_start(ptr %function, ptr %data, i32 %threads)
  call void %function(ptr %data)
  call void @GOMP_parallel_end()
  ret void
}}

{asked("i32", "omp_get_thread_num", "")}  %tid = load i32, ptr %me
  ret i32 %tid
}}

{asked("i32", "omp_get_num_threads", "")}{field("size.p", SIZE)}  %n = load i32, ptr %size.p
  ret i32 %n
}}

{asked("i32", "omp_in_parallel", "")}{field("active.p", ACTIVE)}  %active = load i32, ptr %active.p
  ret i32 %active
}}

{asked("void", "GOMP_barrier", "")}{field("size.p", SIZE)}  %n = load i32, ptr %size.p
  %several = icmp ugt i32 %n, 1
  br i1 %several, label %wait, label %done
wait:
{field("team.p", TEAM)}  %team = load ptr, ptr %team.p
{field("arrived.p", ARRIVED, "%team")}{field("turn.p", TURN, "%team")}  %turn = load atomic i32, ptr %turn.p acquire, align 4
  %before = atomicrmw add ptr %arrived.p, i32 1 acq_rel
  %here = add i32 %before, 1
  %last = icmp eq i32 %here, %n
  br i1 %last, label %open, label %spin
open:
  store atomic i32 0, ptr %arrived.p monotonic, align 4
  %next = add i32 %turn, 1
  store atomic i32 %next, ptr %turn.p release, align 4
  br label %done
spin:
  %turns = phi i32 [ 0, %wait ], [ %turns.next, %pause ], [ %turns.next, %yield ]
  %now = load atomic i32, ptr %turn.p acquire, align 4
  %opened = icmp ne i32 %now, %turn
  br i1 %opened, label %done, label %on
on:
  %counted = add i32 %turns, 1
  %turns.next = call i32 @llvm.umin.i32(i32 %counted, i32 4096)
  %long = icmp eq i32 %turns.next, 4096
  br i1 %long, label %yield, label %pause
pause:
  {_PAUSE}
  br label %spin
yield:
  %yielded = call i32 @sched_yield()
  br label %spin
done:
  ret void
}}
"""

CODE = DECLARATIONS + _BASICS + _WORKER + _TEAM
