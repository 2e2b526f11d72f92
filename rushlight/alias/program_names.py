"""The torch names in a program's text, read without running it: what it imports, and the attributes that it takes of that.

`names_in(path)` follows the program's imports of its own files. A name counts where the scope that uses it, or one around
it, has imported it and nothing else of the same name hides it.
"""

import ast
import warnings
from collections import deque
from pathlib import Path
from typing import NamedTuple

__all__ = ["Use", "names_in", "python_files"]

_ROOTS = ("torch", "torchvision", "torchaudio")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Use(NamedTuple):
    """A full dotted `name`, or a method's name after a dot; the `file` and `line` where it occurs."""

    name: str
    file: str
    line: int


def python_files(path):
    """The Python files that a path denotes: itself, or all in the folder."""
    path = Path(path)
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


def names_in(paths):
    """(uses, errors): the uses of torch's names in these files and in those that they import, and what is not Python.

    Raises OSError for a file that cannot be read.
    """
    uses, errors, seen = [], [], set()
    pending = deque((Path(path), Path(path).parent) for path in paths)
    while pending:
        path, folder = pending.popleft()
        if path.resolve() in seen:
            continue
        seen.add(path.resolve())
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(path.read_bytes(), str(path))
        except (SyntaxError, ValueError) as error:
            errors.append(f"{path}: {error}")
            continue
        reader = _Reader(str(path))
        reader.read(tree)
        uses += reader.uses
        pending.extend((found, folder) for found in _own_files(tree, path, folder))
    return uses, errors


# the program's own files


def _own_files(tree, path, folder):
    """Files of the program that this one imports: next to the script, or relative to its package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _file_of(folder, alias.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            base = path.parents[node.level - 1] if node.level and node.level <= len(path.parents) else folder
            parts = node.module.split(".") if node.module else []
            yield from _file_of(base, parts)
            for alias in node.names:
                yield from _file_of(base, [*parts, alias.name])


def _file_of(folder, parts):
    for length in range(1, len(parts) + 1):
        place = folder.joinpath(*parts[:length])
        for file in (place.with_suffix(".py"), place / "__init__.py"):
            if file.is_file():
                yield file


# names


class _Reader:
    """Goes through the scopes of a file with what each name refers to."""

    def __init__(self, file):
        self.file = file
        self.uses = []
        self.scopes = [{}]  # name -> the dotted name that it refers to, or None for something else

    def read(self, tree):
        self._bind(tree.body)
        for statement in tree.body:
            self._visit(statement)

    def _use(self, name, node):
        self.uses.append(Use(name, self.file, node.lineno))

    # what names refer to

    def _bind(self, body, arguments=()):
        """Note what the statements of one scope bind, without those of the scopes inside it."""
        scope = self.scopes[-1]
        imported = {}
        for node in _same_scope(body):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                imported.update(_imports(node))
            elif isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
                scope[node.id] = None
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                scope[node.name] = None
        scope.update(dict.fromkeys(arguments))
        scope.update(
            {name: None if name in scope else path for name, path in imported.items()}
        )  # both: one cannot tell
        for node in body:  # nn = torch.nn
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                name = self._resolve(node.value)
                if name and scope.get(node.targets[0].id) is None and _bound_once(body, node.targets[0].id):
                    scope[node.targets[0].id] = name

    def _resolve(self, node):
        """The dotted torch name of an expression, or None."""
        parts = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        for scope in reversed(self.scopes):
            if node.id in scope:
                start = scope[node.id]
                return ".".join([start, *reversed(parts)]) if start else None
        return None

    # uses

    def _visit(self, node):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            self._visit_import(node)
        elif isinstance(node, _FUNCTIONS):
            self._visit_function(node)
        elif isinstance(node, ast.ClassDef):
            self._visit_class(node)
        elif isinstance(node, ast.Attribute):
            self._visit_attribute(node)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and (name := self._resolve(node)):
            if "." in name:
                self._use(name, node)
        else:
            for child in ast.iter_child_nodes(node):
                self._visit(child)

    def _visit_import(self, node):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] in _ROOTS:
                    self._use(alias.name, node)
        elif not node.level and (node.module or "").split(".")[0] in _ROOTS:
            for alias in node.names:
                self._use(node.module if alias.name == "*" else f"{node.module}.{alias.name}", node)

    def _visit_attribute(self, node):
        if name := self._resolve(node):
            if not isinstance(node.ctx, ast.Store):
                self._use(name, node)
            return
        if isinstance(node.ctx, ast.Load):
            self._use(f".{node.attr}", node)
        self._visit(node.value)

    def _visit_function(self, node):
        is_lambda = isinstance(node, ast.Lambda)
        outside = [*node.args.defaults, *(d for d in node.args.kw_defaults if d)]
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
        arguments = [a for a in arguments if a]
        if not is_lambda:
            outside += [*node.decorator_list, *filter(None, [node.returns, *(a.annotation for a in arguments)])]
        for part in outside:
            self._visit(part)
        body = [node.body] if is_lambda else node.body
        self._inside(body, [a.arg for a in arguments])

    def _visit_class(self, node):
        for part in (*node.decorator_list, *node.bases, *(k.value for k in node.keywords)):
            self._visit(part)
        for statement in node.body:  # names of a class body are not seen in its methods
            self._visit(statement)

    def _inside(self, body, arguments):
        self.scopes.append({})
        self._bind(body, arguments)
        for statement in body:
            self._visit(statement)
        self.scopes.pop()


def _same_scope(body):
    pending = list(body)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            pending.extend(ast.iter_child_nodes(node))


def _bound_once(body, name):
    stored = (n for n in _same_scope(body) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store))
    return sum(1 for _ in stored) == 1


def _imports(node):
    """(name bound, the torch name that it refers to, or None) of an import statement."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            root = alias.name.split(".")[0]
            yield alias.asname or root, (alias.name if alias.asname else root) if root in _ROOTS else None
        return
    ours = not node.level and (node.module or "").split(".")[0] in _ROOTS
    for alias in node.names:
        yield alias.asname or alias.name, f"{node.module}.{alias.name}" if ours else None
