"""Loops that a team shares: OpenMP's static ones, and `pool_share`, which deals out pieces of generated loops.

    void pool_share(ptr function, ptr data, i64 units, i64 grain, i32 most)

runs function(data, from, to) for all units, in whole grains. `most` is how many pieces the work is worth: a few for each
thread, so that a late one delays the others little, and no more threads than pieces. The threads are the pool's (`CODE`, a
part of the module of `pool_code.py`), libgomp's (OVER_OPENMP), or the caller alone (ALONE).
"""

from __future__ import annotations

from .pool_code import (
    ACTIVE,
    LOOP_CHUNK,
    LOOP_COUNT,
    LOOP_START,
    LOOP_STEP,
    LOOP_TURN,
    MOST,
    NEXT,
    SIZE,
    asked,
    field,
)  # fmt: skip

PIECES = 4  # of a loop for each thread


def _loaded(frame: tuple[str, ...]) -> str:
    """Instructions that take the words of %frame: `ptr data` becomes %data."""
    lines = []
    for i, word in enumerate(frame):
        kind, name = word.split()
        lines.append(f"  %{name}.p = getelementptr i64, ptr %frame, i64 {i}\n  %{name} = load {kind}, ptr %{name}.p\n")
    return "".join(lines)


def _stored(frame: tuple[str, ...], **sources: str) -> str:
    """Instructions that fill %frame, each word from the value of its name, or from that of `sources`."""
    lines = []
    for i, word in enumerate(frame):
        kind, name = word.split()
        lines.append(f"  %{name}.p = getelementptr i64, ptr %frame, i64 {i}\n")
        lines.append(f"  store {kind} %{sources.get(name, name)}, ptr %{name}.p\n")
    return "".join(lines)


_LOOPS = f"""
; the iterations of a loop in chunks, dealt out in turn; a chunk of 0: one block for each thread
{asked("i1", "GOMP_loop_static_start", "i64 %start, i64 %end, i64 %step, i64 %chunk, ptr %from, ptr %to")}{field("count.p", LOOP_COUNT)}{field("start.p", LOOP_START)}{field("step.p", LOOP_STEP)}{field("chunk.p", LOOP_CHUNK)}{field("turn.p", LOOP_TURN)}  %up = icmp sgt i64 %step, 0
  %round = select i1 %up, i64 -1, i64 1
  %distance = sub i64 %end, %start
  %d = add i64 %distance, %step
  %rounded = add i64 %d, %round
  %iterations = sdiv i64 %rounded, %step
  %negative = icmp slt i64 %iterations, 0
  %count = select i1 %negative, i64 0, i64 %iterations
  store i64 %count, ptr %count.p
  store i64 %start, ptr %start.p
  store i64 %step, ptr %step.p
  store i64 %chunk, ptr %chunk.p
  store i64 0, ptr %turn.p
  %any = call i1 @GOMP_loop_static_next(ptr %from, ptr %to)
  ret i1 %any
}}

{asked("i1", "GOMP_loop_static_next", "ptr %from, ptr %to")}{field("size.p", SIZE)}{field("count.p", LOOP_COUNT)}{field("start.p", LOOP_START)}{field("step.p", LOOP_STEP)}{field("chunk.p", LOOP_CHUNK)}{field("turn.p", LOOP_TURN)}  %tid.32 = load i32, ptr %me
  %tid = zext i32 %tid.32 to i64
  %n.32 = load i32, ptr %size.p
  %n = zext i32 %n.32 to i64
  %count = load i64, ptr %count.p
  %chunk = load i64, ptr %chunk.p
  %turn = load i64, ptr %turn.p
  %turn.next = add i64 %turn, 1
  store i64 %turn.next, ptr %turn.p
  %blocks = icmp eq i64 %chunk, 0
  br i1 %blocks, label %block, label %chunked
block:
  %each = udiv i64 %count, %n
  %rest = urem i64 %count, %n
  %mine = mul i64 %each, %tid
  %extra = call i64 @llvm.umin.i64(i64 %tid, i64 %rest)
  %b.low = add i64 %mine, %extra
  %longer = icmp ult i64 %tid, %rest
  %one = zext i1 %longer to i64
  %b.length = add i64 %each, %one
  %b.high = add i64 %b.low, %b.length
  %first = icmp eq i64 %turn, 0
  %b.stop = select i1 %first, i64 %b.high, i64 %b.low
  br label %have
chunked:
  %round = mul i64 %turn, %n
  %number = add i64 %round, %tid
  %c.start = mul i64 %number, %chunk
  %c.low = call i64 @llvm.umin.i64(i64 %c.start, i64 %count)
  %c.end = add i64 %c.low, %chunk
  %c.high = call i64 @llvm.umin.i64(i64 %c.end, i64 %count)
  br label %have
have:
  %low = phi i64 [ %b.low, %block ], [ %c.low, %chunked ]
  %high = phi i64 [ %b.stop, %block ], [ %c.high, %chunked ]
  %some = icmp ult i64 %low, %high
  br i1 %some, label %give, label %none
give:
  %start = load i64, ptr %start.p
  %step = load i64, ptr %step.p
  %low.scaled = mul i64 %low, %step
  %low.value = add i64 %start, %low.scaled
  store i64 %low.value, ptr %from
  %high.scaled = mul i64 %high, %step
  %high.value = add i64 %start, %high.scaled
  store i64 %high.value, ptr %to
  ret i1 true
none:
  ret i1 false
}}

{asked("void", "GOMP_loop_end_nowait", "")}  ret void
}}
"""

# piece: its units; each: pieces of a block, of which each of the n threads has one; team: its record
_FRAME = ("ptr function", "ptr data", "i64 units", "i64 piece", "i64 each", "i64 pieces", "i64 n", "ptr team")
_SHARE = f"""
define internal void @blocks(ptr %frame) #0 {{
entry:
{_loaded(_FRAME)}  %n.32 = trunc i64 %n to i32
  %me = call ptr @who()
  %tid = load i32, ptr %me
  br label %block

block:  ; first the thread's own, then what is left of the others'
  %k = phi i32 [ 0, %entry ], [ %k.next, %block.done ]
  %sum = add i32 %tid, %k
  %v = urem i32 %sum, %n.32
  %line = call ptr @ticket_of(ptr %team, i32 %v)
  %next.p = getelementptr i8, ptr %line, i64 {NEXT}
  %v.64 = zext i32 %v to i64
  %base = mul i64 %v.64, %each
  br label %take
take:
  %i = atomicrmw add ptr %next.p, i64 1 monotonic
  %p = add i64 %base, %i
  %within = icmp ult i64 %i, %each
  %there = icmp ult i64 %p, %pieces
  %some = and i1 %within, %there
  br i1 %some, label %run, label %block.done
run:
  %start = mul i64 %p, %piece
  %end = add i64 %start, %piece
  %stop = call i64 @llvm.umin.i64(i64 %end, i64 %units)
  call void %function(ptr %data, i64 %start, i64 %stop)
  br label %take
block.done:
  %k.next = add i32 %k, 1
  %more = icmp ult i32 %k.next, %n.32
  br i1 %more, label %block, label %done
done:
  ret void
}}

define void @pool_share(ptr %function, ptr %data, i64 %units, i64 %grain, i32 %most) #0 {{
entry:
  %frame = alloca [8 x i64], align 64
  %me = call ptr @who()
{field("active.p", ACTIVE)}  %active = load i32, ptr %active.p
  %inside = icmp ne i32 %active, 0
  br i1 %inside, label %alone, label %free
free:
  %usual = call i32 @omp_get_max_threads()
  %few = call i32 @llvm.umin.i32(i32 %usual, i32 %most)
  %n = call i32 @llvm.umin.i32(i32 %few, i32 {MOST})
  %several = icmp ugt i32 %n, 1
  br i1 %several, label %team, label %alone
alone:
  call void %function(ptr %data, i64 0, i64 %units)
  ret void
team:
  %n.64 = zext i32 %n to i64
  %most.64 = zext i32 %most to i64
  %less = sub i64 %grain, 1
  %up = add i64 %units, %less
  %grains = udiv i64 %up, %grain
  %small = call i64 @llvm.umax.i64(i64 %most.64, i64 %n.64)
  %many = mul i64 %n.64, {PIECES}
  %goal.n = call i64 @llvm.umin.i64(i64 %small, i64 %many)
  %goal = call i64 @llvm.umin.i64(i64 %goal.n, i64 %grains)
  %goal.less = sub i64 %goal, 1
  %g.up = add i64 %grains, %goal.less
  %in.piece = udiv i64 %g.up, %goal
  %piece = mul i64 %in.piece, %grain
  %piece.less = sub i64 %piece, 1
  %u.up = add i64 %units, %piece.less
  %pieces = udiv i64 %u.up, %piece
  %n.less = sub i64 %n.64, 1
  %p.up = add i64 %pieces, %n.less
  %each = udiv i64 %p.up, %n.64
{_stored(_FRAME, team="me", n="n.64")}  br label %clear
clear:
  %t = phi i32 [ 0, %team ], [ %t.next, %clear ]
  %line = call ptr @ticket_of(ptr %me, i32 %t)
  %next.p = getelementptr i8, ptr %line, i64 {NEXT}
  store atomic i64 0, ptr %next.p monotonic, align 8
  %t.next = add i32 %t, 1
  %more = icmp ult i32 %t.next, %n
  br i1 %more, label %clear, label %start
start:
  call void @GOMP_parallel(ptr @blocks, ptr %frame, i32 %n, i32 0)
  ret void
}}
"""

CODE = _LOOPS + _SHARE

_GRAINS = ("ptr function", "ptr data", "i64 units", "i64 next", "i64 piece")  # next: the first unit that is not taken
OVER_OPENMP = f"""
declare void @GOMP_parallel(ptr, ptr, i32, i32)

define internal void @pieces(ptr %frame) #0 {{
entry:
{_loaded(_GRAINS)}  br label %take
take:
  %start = atomicrmw add ptr %next.p, i64 %piece monotonic
  %some = icmp ult i64 %start, %units
  br i1 %some, label %run, label %done
run:
  %end = add i64 %start, %piece
  %less = icmp ult i64 %end, %units
  %stop = select i1 %less, i64 %end, i64 %units
  call void %function(ptr %data, i64 %start, i64 %stop)
  br label %take
done:
  ret void
}}

define void @pool_share(ptr %function, ptr %data, i64 %units, i64 %grain, i32 %most) #0 {{
  %several = icmp ugt i32 %most, 1
  br i1 %several, label %team, label %alone
alone:
  call void %function(ptr %data, i64 0, i64 %units)
  ret void
team:
  %frame = alloca [5 x i64], align 64
  %most.64 = zext i32 %most to i64
  %less = sub i64 %grain, 1
  %up = add i64 %units, %less
  %grains = udiv i64 %up, %grain
  %most.less = sub i64 %most.64, 1
  %g.up = add i64 %grains, %most.less
  %in.piece = udiv i64 %g.up, %most.64
  %piece = mul i64 %in.piece, %grain
  %zero = add i64 0, 0
{_stored(_GRAINS, next="zero")}  call void @GOMP_parallel(ptr @pieces, ptr %frame, i32 0, i32 0)
  ret void
}}
"""
ALONE = """
define void @pool_share(ptr %function, ptr %data, i64 %units, i64 %grain, i32 %most) #0 {
  call void %function(ptr %data, i64 0, i64 %units)
  ret void
}
"""
