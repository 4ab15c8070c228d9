"""Changes that cosmic-ray does not make, and that can break privacy: what is left out or passed through."""

import re

from cosmic_ray.operators.operator import Example, Operator
from parso.python.tree import Name

OPENED = {"arglist", "testlist_comp", "dictorsetmaker", "testlist_star_expr", "exprlist"}


class DropElement(Operator):
    """Leave out an argument of a call, or an element of a list, tuple or dict: a part of a key, say."""

    def mutation_positions(self, node):
        for group in _groups(node):
            yield group[0].start_pos, group[-1].end_pos

    def mutate(self, node, index):
        if node.type == "trailer":
            node.children = [node.children[0], node.children[-1]]
            return node
        groups = _groups(node)
        kept = [group for number, group in enumerate(groups) if number != index]
        text = ",".join("".join(child.get_code() for child in group) for group in kept)
        return _text(text + "," * (len(kept) == 1), like=node)

    @classmethod
    def examples(cls):
        return Example("digest([a, b])", "digest([b,])"), Example("stream(exact)", "stream()")


class PassThrough(Operator):
    """Put what is given to a function in the place of what it returns: noise, a clip or a cut left out."""

    def mutation_positions(self, node):
        if _argument(node) is not None:
            yield node.start_pos, node.end_pos

    def mutate(self, node, index):
        return _text(f"({_argument(node).get_code(False)})", like=node)

    @classmethod
    def examples(cls):
        return (Example("W = cut(W + step)", "W = (W + step)"),)


class DropStatement(Operator):
    """Leave out a check, a call, or a second value of a name."""

    def mutation_positions(self, node):
        if node.type == "simple_stmt" and _may_go(node.children[0]):
            yield node.start_pos, node.end_pos

    def mutate(self, node, index):
        node.children[0] = _text("pass", like=node)
        return node

    @classmethod
    def examples(cls):
        return (Example("def f(x):\n    x = g(x)\n    return x", "def f(x):\n    pass\n    return x"),)


OPERATORS = {operator.__name__: operator for operator in (DropElement, PassThrough, DropStatement)}


def _groups(node):
    """Return what can be left out: lists of the nodes between commas."""
    if node.type == "trailer" and node.children[0] == "(":
        (*inner,) = node.children[1:-1]
        return [inner] if inner and inner[0].type not in OPENED and not _is_loop(inner[0]) else []
    if node.type not in OPENED or any(map(_is_loop, node.children)):
        return []
    groups = [[]]
    for child in node.children:
        if child == ",":
            groups.append([])
        else:
            groups[-1].append(child)
    return [group for group in groups if group]


def _is_loop(node):
    return "comp_for" in node.type or any("comp_for" in child.type for child in getattr(node, "children", ()))


def _argument(node):
    """Return the first argument of a call without a name, or None."""
    if node.type not in ("atom_expr", "power") or node.children[-1].type != "trailer":
        return None
    opening, *inner, _ = node.children[-1].children
    if opening != "(" or not inner:
        return None
    first = inner[0].children[0] if inner[0].type == "arglist" else inner[0]
    return None if first.type in ("argument", "string") or _is_loop(first) else first


def _may_go(statement):
    if statement.type == "raise_stmt":
        return True
    function = statement
    while function is not None and function.type != "funcdef":
        function = function.parent
    if function is None:
        return False
    if statement.type in ("atom_expr", "power"):
        return True
    if statement.type != "expr_stmt" or statement.children[1].type == "annassign":
        return False
    target = statement.children[0]
    if target.type != "name" or statement.children[1] != "=":
        return True
    earlier = function.get_code()[: _offset(function, statement)]
    return re.search(rf"\b{target.value}\b", earlier.split("(", 1)[1]) is not None


def _offset(function, statement):
    lines = function.get_code(False).splitlines(keepends=True)
    row = statement.start_pos[0] - function.start_pos[0]
    return sum(map(len, lines[:row]))


def _text(code, *, like):
    """Return code as one node, after the same space as another node; nobody reads it but Python."""
    return Name(code.strip(" \n"), like.start_pos, prefix=like.get_first_leaf().prefix)
