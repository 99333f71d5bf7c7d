"""Which single changes a module's source can have: each is a `Mutant`, a syntax tree with one thing changed."""

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """`lines` are those of the changed statement, or of a compound statement's head."""

    line: int
    lines: range
    change: str
    tree: ast.Module


def find_mutants(source: str) -> Iterator[Mutant]:
    """All mutations of functions' bodies; log lines, metrics, annotations and module constants are left alone."""
    tree = ast.parse(source)
    heads = _list_heads(tree)
    for index, site in enumerate(_list_sites(tree)):
        if (change := _describe_change(site)) is not None:
            mutated = copy.deepcopy(tree)
            _apply_change(mutated, _list_sites(mutated)[index])
            line = getattr(site, "lineno", 0)
            lines = min((head for head in heads if line in head), key=len, default=range(line, line + 1))
            text = ast.unparse(site).splitlines()[0][:80]
            yield Mutant(line, lines, f"`{text}`: {change}", ast.fix_missing_locations(mutated))


def _list_heads(tree: ast.Module) -> list[range]:
    """The lines of each simple statement, and those before the body of each compound one."""
    heads: list[range] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt | ast.match_case | ast.ExceptHandler):
            body = [*getattr(node, "body", []), *getattr(node, "cases", [])]
            start = node.pattern.lineno if isinstance(node, ast.match_case) else node.lineno
            if not body:
                heads.append(range(start, (node.end_lineno or start) + 1))  # type: ignore[union-attr]  # a statement
            else:
                first = body[0].pattern.lineno if isinstance(body[0], ast.match_case) else body[0].lineno
                heads.append(range(start, max(first, start + 1)))
    return heads


def _list_sites(tree: ast.Module) -> list[ast.AST]:
    return [node for function in _list_functions(tree) for node in _walk_body(function)]


def _list_functions(tree: ast.Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Outermost functions and methods; a Protocol has nothing to run."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and not _is_protocol(node)]
    bodies = [tree.body, *(node.body for node in classes)]
    return [node for body in bodies for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def _is_protocol(node: ast.ClassDef) -> bool:
    return any("Protocol" in ast.unparse(base) for base in node.bases)


def _walk_body(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
    for statement in function.body:
        yield from _walk_node(statement)


def _walk_node(node: ast.AST) -> Iterator[ast.AST]:
    if _is_observation(node) or isinstance(node, ast.arguments):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _walk_node(child)


def _is_observation(node: ast.AST) -> bool:
    """A log line, a metric, a docstring: no test has to notice them."""
    if not isinstance(node, ast.Expr):
        return False
    if isinstance(node.value, ast.Constant):
        return True
    text = ast.unparse(node.value)
    return text.startswith("log.") or text.partition(".")[0].isupper()


def _describe_change(node: ast.AST) -> str | None:
    """What `_apply_change` does to this node; None when it is left alone."""
    match node:
        case ast.Compare(ops=[comparison]) if type(comparison) in _COMPARISONS:
            return f"{type(comparison).__name__} -> {_COMPARISONS[type(comparison)].__name__}"
        case ast.BoolOp():
            return "and <-> or"
        case ast.UnaryOp(op=ast.Not()):
            return "not removed"
        case ast.BinOp(op=operator) if type(operator) in _OPERATORS:
            return f"{type(operator).__name__} -> {_OPERATORS[type(operator)].__name__}"
        case ast.Constant(value=bool() as flag):
            return f"{not flag}"
        case ast.Constant(value=int() | float() as number):
            return f"{number + 1}"
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            return (
                None if isinstance(test, ast.Compare | ast.Constant | ast.UnaryOp | ast.BoolOp) else "condition negated"
            )
        case ast.Return(value=ast.expr() as value):
            return None if isinstance(value, ast.Constant) else "return None"
        case ast.Raise() | ast.Break() | ast.Continue() | ast.AugAssign() | ast.Delete():
            return "removed"
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            return "removed"
        case _:
            return None


def _apply_change(tree: ast.Module, node: ast.AST) -> None:
    """What is left out stays behind a constant condition: the names that a function closes over stay the same."""
    match node:
        case ast.Compare():
            node.ops = [_COMPARISONS[type(node.ops[0])]()]
        case ast.BoolOp():
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        case ast.BinOp():
            node.op = _OPERATORS[type(node.op)]()
        case ast.Constant(value=bool() as flag):
            node.value = not flag
        case ast.Constant(value=int() | float() as number):
            node.value = number + 1
        case ast.If() | ast.While() | ast.IfExp():
            node.test = ast.UnaryOp(ast.Not(), node.test)
        case ast.Return(value=ast.expr() as value):
            node.value = ast.IfExp(ast.Constant(True), ast.Constant(None), value)
        case ast.UnaryOp():
            _replace_node(tree, node, node.operand)
        case ast.stmt():
            _replace_node(tree, node, ast.If(ast.Constant(False), [node], []))


def _replace_node(tree: ast.Module, old: ast.AST, new: ast.AST) -> None:
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, name, new)
                return
            if isinstance(value, list):
                for position, child in enumerate(value):
                    if child is old:
                        value[position] = new
                        return
