"""What the source of a test module says about a test: why pytest would not collect it, and which marks it has.

Reading the source takes a hundredth of the time in which pytest imports and collects the same modules.  What cannot be
read, such as marks that a function returns, counts against the test.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

Test = ast.FunctionDef | ast.AsyncFunctionDef
Share = Literal["none", "some", "all"]

# Decorators that leave a function a test; others may return something else.
DECORATORS = {"given", "settings", "example", "seed"}
SKIPS = {"skip", "skipif", "importorskip", "xfail"}


def skips_in(node: ast.AST) -> set[str]:
    """The names in the node by which a test is left out; `slow` is one where it is a mark."""
    marks = {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return (marks & (SKIPS | {"slow"})) | (names & SKIPS)


def mentions(node: ast.AST, mark: str) -> bool:
    """Whether the node has `pytest.mark.<mark>` or `mark.<mark>`."""
    return any(
        isinstance(each, ast.Attribute)
        and each.attr == mark
        and (each.value.attr if isinstance(each.value, ast.Attribute) else getattr(each.value, "id", "")) == "mark"
        for each in ast.walk(node)
    )


def class_of(module: ast.Module, name: str) -> ast.ClassDef | None:
    """name: `test_x` or `TestX::test_x`."""
    of, is_member, _ = name.partition("::")
    found = [node for node in module.body if isinstance(node, ast.ClassDef) and node.name == of]
    return found[-1] if is_member and found else None


def left_out(module: ast.Module, name: str, function: Test) -> set[str]:
    """How a test may be left out: by itself, by its class, or by a statement of its module."""
    found = skips_in(function)
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            if name.startswith(f"{node.name}::"):
                found |= {skip for decorator in node.decorator_list for skip in skips_in(decorator)}
        elif not isinstance(node, Test):
            found |= skips_in(node)
    return found


# -- is it collected ---------------------------------------------------------------------------------------------------


def uncollected(module: ast.Module, name: str, function: Test) -> list[str]:
    """Why pytest may not collect or not run a test that gen_requirements.collected returns."""
    bound = bindings(module.body)
    reasons = [f"{each} is bound again" for each in {name.partition("::")[0]} if bound[each] > 1]
    if "__test__" in bound:
        reasons.append("the module sets __test__")
    if (of := class_of(module, name)) is not None:
        members = bindings(of.body)
        reasons += [f"the class sets {each}" for each in ("__init__", "__new__", "__test__") if each in members]
        reasons += [f"{function.name} is bound again"] * (members[function.name] > 1)
        reasons += ["the class has bases or keywords"] * bool(of.bases or of.keywords)
    for decorator in decorators(module, name, function):
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        text = ast.unparse(called)
        if text not in DECORATORS and not text.startswith(("pytest.mark.", "mark.")):
            reasons.append(f"{text} decorates it")
        if text.endswith("mark.parametrize") and isinstance(decorator, ast.Call) and has_no_values(decorator):
            reasons.append("it has no parameters")
    if any(isinstance(each, ast.Yield | ast.YieldFrom) for each in own_nodes(function)):
        reasons.append("it yields")
    return reasons


def bindings(body: Sequence[ast.stmt]) -> Counter[str]:
    """How often the statements bind, or delete, each name of their scope."""
    found = Counter[str]()
    for statement in body:
        for node in scope_of(statement):
            if isinstance(node, Test | ast.ClassDef):
                found[node.name] += 1
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
                found[node.id] += 1
            elif isinstance(node, ast.alias):
                found[(node.asname or node.name).partition(".")[0]] += 1
    return found


def scope_of(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that are run in the scope of this one; of functions, classes and comprehensions only themselves."""
    yield node
    if not isinstance(node, Test | ast.ClassDef | ast.Lambda | ast.comprehension):
        for child in ast.iter_child_nodes(node):
            yield from scope_of(child)


def own_nodes(function: Test) -> Iterator[ast.AST]:
    for statement in function.body:
        yield from scope_of(statement)


def assigned(module: ast.Module, name: str) -> ast.expr | None:
    """What the module assigns to a name, if it does so once."""
    values = [
        node.value
        for node in module.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and target.id == name
    ]
    return values[0] if len(values) == 1 else None


def decorators(module: ast.Module, name: str, function: Test) -> Iterator[ast.expr]:
    """The decorators of a test and its class; the value of one that is a name of the module."""
    of = class_of(module, name)
    for each in [*function.decorator_list, *(of.decorator_list if of is not None else [])]:
        value = assigned(module, each.id) if isinstance(each, ast.Name) else None
        yield each if value is None else value


def argument_values(parametrize: ast.Call) -> ast.expr | None:
    given = [each.value for each in parametrize.keywords if each.arg == "argvalues"]
    return parametrize.args[1] if len(parametrize.args) > 1 else given[0] if given else None


def has_no_values(parametrize: ast.Call) -> bool:
    values = argument_values(parametrize)
    return isinstance(values, ast.List | ast.Tuple) and not values.elts


# -- marks -------------------------------------------------------------------------------------------------------------


def share_marked(module: ast.Module, name: str, function: Test, mark: str) -> Share:
    """Whether none, some or all of the parameters of a test have a mark.  What cannot be read counts as all."""
    shares: list[Share] = []
    for node in module.body:
        if isinstance(node, ast.Assign) and any(
            isinstance(each, ast.Name) and each.id == "pytestmark" for each in node.targets
        ):
            shares.append("all" if mentions(node, mark) else "none")
    for decorator in decorators(module, name, function):
        is_parametrized = isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith("mark.parametrize")
        values = argument_values(decorator) if is_parametrized and isinstance(decorator, ast.Call) else None
        shares.append(share_of(module, decorator if values is None else values, mark))
    return "all" if "all" in shares else "some" if "some" in shares else "none"


def share_of(module: ast.Module, values: ast.expr, mark: str) -> Share:
    """Whether none, some or all of the values of a parameter have a mark."""
    match values:
        case ast.List() | ast.Tuple():
            shares = {share_of(module, each, mark) for each in values.elts}
            return "none" if shares <= {"none"} else "all" if shares == {"all"} else "some"
        case ast.Starred(value=inner):
            return share_of(module, inner, mark)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return share_of(module, ast.List([ast.Starred(left), ast.Starred(right)]), mark)
        case ast.Name(id=name) if (value := assigned(module, name)) is not None:
            return share_of(module, value, mark)
    return "all" if mentions(values, mark) else "none"
