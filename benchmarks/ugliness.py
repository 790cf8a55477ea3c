"""Places at which an equation is written strangely, though it may be right.

`ugliness` gives one short reason per place, ``kind: what stands there``. Two sorts of rules: how an
equation reads is judged by its text, as a reader sees it; what its constants say is judged on the
rows, with the constants' standard errors where they are known.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from ieql.equations.differences import cancelling_sums
from ieql.equations.expression import Expression, Sum
from ieql.prior import Prior
from ieql.units import COS, DIV, EXP, LOG, SIN, SQRT

__all__ = ["kind_of", "ugliness", "ugly_text", "unordered_terms", "written"]

Array = NDArray[np.float64]
Reasons = Iterator[str]
WITHIN = 2.0
"""Standard errors within which a constant means a simpler number."""
EXACT = 1e-6
"""The same where no standard error is known, or where it is smaller."""
TELLING_PHASE = 0.1
"""Radians of a phase's error above which it is near some quarter turn by chance."""
TELLING_EXPONENT = {1: 0.05, 2: 0.025, 3: 0.01, 4: 0.01}
"""The same for an exponent, by the denominator of the fraction: the more there are, the less."""
LARGEST_EXPONENT = 6
PART_OF_NOISE, PART_OF_SPREAD = 0.1, 1e-3
"""What a straight line or a parabola may change: part of the noise, or else of the spread."""
OWN_PART = 0.05
"""The same as a part of what the replaced unit itself does, whatever the noise."""
WAVES = (COS, SIN)
BENT = (COS, SIN, EXP, SQRT, LOG, DIV)
LONGEST_REASON = 90
"""Characters of a reason."""


def ugliness(
    expression: Expression,
    X: Array,
    domain: Array | None = None,
    standard_errors: Sequence[float] | None = None,
    noise: float | None = None,
    prior: Prior | None = None,
) -> list[str]:
    """Reasons why an equation reads strangely, one per place; none if it is plain.

    Parameters
    ----------
    expression : Expression
        The equation as it is shown, with one output.
    X : array (rows, inputs)
        The rows that it was fitted to.
    domain : array (points, inputs), optional
        Points at which it is to hold as well: what is bent there is not called straight.
    standard_errors : sequence of float, optional
        Of each constant, in the order of `Expression.constants`.
    noise : float, optional
        Root mean square of the residuals. Without it (or if it is 0) a unit must be straight to a
        thousandth of its spread.
    prior : Prior, optional
        What must not appear: a form is not strange if its plain form is prohibited.
    """
    X = np.asarray(X, dtype=np.float64)
    errors = np.zeros(len(expression.constants()))
    if standard_errors is not None:
        errors = np.nan_to_num(np.array(standard_errors, dtype=float), nan=math.inf)
    reasons = ugly_text(expression.text(), prior)
    with np.errstate(all="ignore"):
        reasons += phases(expression, errors)
        reasons += negative_waves(expression)
        reasons += nearly_simple_exponents(expression, errors)
        reasons += cancelling_terms(expression, X)
        reasons += unseen_bends(expression, X, domain, noise)
    return [_short(reason) for reason in reasons]


def ugly_text(text: str, prior: Prior | None = None) -> list[str]:
    """Reasons that the text alone tells."""
    tree, names = written(text)
    found = [reason for rule in TEXT_RULES for reason in rule(tree)]
    inner = [n.args[0] for n in _nodes(tree) if _is_call(n, "exp")]
    if prior is not None and not prior.allows("exp", 0, "exp"):
        # One exponential instead of its power would be the exponential of an exponential.
        excused = [reason for tree in inner for reason in split_exponentials(tree)]
        found = [reason for reason in found if reason not in excused]
    return [_short(_with_names(reason, names)) for reason in found]


def kind_of(reason: str) -> str:
    """The kind of a reason, without the place."""
    return reason.partition(": ")[0]


# --- the text ------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|`(?P<quoted>(?:[^`]|``)*)`|(?P<word>[^\W\d]\w*)"
)


def written(text: str) -> tuple[ast.expr, dict[str, str]]:
    """The syntax tree of an equation's text, and the names that stand for its inputs there."""
    names: dict[str, str] = {}

    def plain(match: re.Match[str]) -> str:
        is_call = text[match.end() :].lstrip().startswith("(")
        if match["word"] == "pi":
            return repr(math.pi)
        if match["number"] is not None or (match["word"] is not None and is_call):
            return match[0]
        # Not the name itself: it may be a word of Python's, or none that Python knows.
        return names.setdefault(match[0], f"input_{len(names)}_")

    tree = ast.parse(_TOKEN.sub(plain, text).replace("^", "**"), mode="eval").body
    return tree, {new: old for old, new in names.items()}


def _with_names(reason: str, names: dict[str, str]) -> str:
    return re.sub(r"input_\d+_", lambda match: names.get(match[0], match[0]), reason)


def _reason(kind: str, place: ast.expr | str) -> str:
    text = place if isinstance(place, str) else ast.unparse(place).replace(" ** ", "**")
    text = re.sub(r" ([*/]) ", r"\1", text)
    return f"{kind}: {text}"


def _short(reason: str) -> str:
    return reason if len(reason) <= LONGEST_REASON else reason[: LONGEST_REASON - 1] + "…"


def _nodes(tree: ast.expr) -> Iterator[ast.expr]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.expr))


def _is_product(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div)


def _is_number(node: ast.expr) -> bool:
    return isinstance(_unsigned(node), ast.Constant)


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 1


def _unsigned(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.UnaryOp):
        node = node.operand
    return node


def _chain(node: ast.expr) -> list[tuple[ast.expr, bool]]:
    """Factors of ``a*b/c*d`` in their order, and whether each is divided by; no brackets opened."""
    factors: list[tuple[ast.expr, bool]] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        factors.append((node.right, isinstance(node.op, ast.Div)))
        node = node.left
        if isinstance(node, ast.UnaryOp):  # the sign of the whole
            node = node.operand
    factors.append((node, False))
    factors.reverse()
    return [f for k, f in enumerate(factors) if k == 0 or not _is_of_the_number(factors, k)]


def _is_of_the_number(factors: Sequence[tuple[ast.expr, bool]], k: int) -> bool:
    """Whether a factor is a part of the number in front: the π of 2*pi*x, the 3 of x/3."""
    node, is_below = factors[k]
    if not isinstance(node, ast.Constant):
        return False
    is_small = is_below and node.value in range(2, 13)
    return is_small or all(isinstance(f, ast.Constant) for f, _ in factors[:k])


def _products(tree: ast.expr) -> Iterator[ast.expr]:
    """Products and quotients that are not the left part of a longer one."""
    inner: set[int] = set()
    for node in _nodes(tree):
        if isinstance(node, ast.BinOp) and _is_product(node):
            inner.add(id(_unsigned(node.left)))
    return (n for n in _nodes(tree) if _is_product(n) and id(n) not in inner)


def _number_of(node: ast.expr) -> float:
    """The value of an exponent: 1.3, -2, (2/3)."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return _number_of(node.left) / _number_of(node.right)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _number_of(node.left) * _number_of(node.right)
    return float(ast.literal_eval(node))


def _power(node: ast.expr) -> tuple[ast.expr, float]:
    """The base of a power and its exponent, which is 1 for anything else; a root is one half."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return node.left, _number_of(node.right)
    return (node.args[0], 0.5) if _is_call(node, "sqrt") else (node, 1.0)


def _is_call(node: ast.expr, name: str) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _without_number(node: ast.expr) -> ast.expr:
    """A multiple without its number: z of 3*z."""
    node = _unsigned(node)
    factors = _chain(node)
    rest = [factor for factor in factors if not _is_number(factor[0])]
    return rest[0][0] if len(rest) == 1 and not rest[0][1] else node


def _terms(node: ast.expr) -> list[ast.expr]:
    terms: list[ast.expr] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        terms.append(node.right)
        node = node.left
    return [node, *terms[::-1]]


def nested_quotients(tree: ast.expr) -> Reasons:
    """A quotient in a quotient or amid a product: a/(b/c), a/b/c, a*(b/c), a/b*c, a/(2 + 3/b)."""
    for product in _products(tree):
        factors = _chain(product)
        below = [is_below for _, is_below in factors]
        inside = any(_is_product(f) and any(b for _, b in _chain(f)) for f, _ in factors[1:])
        bracket = any(_is_over_an_input(f) for f, _ in factors)
        if inside or bracket or sum(below) > 1 or below != sorted(below):
            yield _reason("nested quotient", product)


def _is_over_an_input(node: ast.expr) -> bool:
    """Whether a bracket is a number and a number over an input: 2 + 3/x, which is (2*x + 3)/x."""
    terms = [_unsigned(term) for term in _terms(node)]
    if len(terms) != 2:
        return False
    others = [_chain(term) for term in terms if not isinstance(term, ast.Constant)]
    if len(others) != 1 or len(others[0]) != 2:
        return False
    (above, _), (below, is_below) = others[0]
    return isinstance(above, ast.Constant) and is_below and isinstance(below, ast.Name)


def numbers_inside(tree: ast.expr) -> Reasons:
    """A number or a sign in a product that is not in front of it: (2*x)*(3*y), x/(2*y)."""
    for product in _products(tree):
        for factor, _ in _chain(product)[1:]:
            loose = [f for f, _ in _chain(factor)] if _is_product(factor) else [factor]
            is_number = any(_is_number(f) and not _is_one(f) for f in loose)
            if isinstance(factor, ast.UnaryOp) or is_number:
                yield _reason("number inside a product", product)
                break


def brackets_in_products(tree: ast.expr) -> Reasons:
    """A product as the factor of a product: a*(b*c); with a number in it, it is counted as that."""
    for product in _products(tree):
        for factor, is_below in _chain(product)[1:]:
            inner = _chain(factor)
            is_plain = not any(b or _is_number(f) for f, b in inner)
            if len(inner) > 1 and is_plain and not is_below:
                yield _reason("product in a product", product)
                break


def repeated_factors(tree: ast.expr) -> Reasons:
    """A factor that stands twice instead of as a power: x*x, x**2*x, x*sqrt(x), (x**2)**2."""
    for product in _products(tree):
        bases: list[str] = []
        for factor, _ in _chain(product):
            # What is repeated within brackets is counted there.
            bases += {ast.dump(_power(f)[0]) for f, _ in _chain(factor) if not _is_number(f)}
        if len(set(bases)) < len(bases):
            yield _reason("repeated factor", product)
    for node in _nodes(tree):
        base, exponent = _power(node)
        if exponent != 1.0 and not _is_call(node, "sqrt"):
            inner = _power(_without_number(base))[1]
            if inner not in (1.0, 0.5):
                yield _reason("repeated factor", node)


def roots_of_squares(tree: ast.expr) -> Reasons:
    """The square of a root, or the root of a square, also with a number: sqrt(4*x**2)."""
    for node in _nodes(tree):
        base, exponent = _power(node)
        inner = _power(_without_number(base))[1]
        if {exponent, inner} == {0.5, 2.0}:
            yield _reason("root and square", node)


def logs_of_powers(tree: ast.expr) -> Reasons:
    """The logarithm of a power, a root, an exponential or a multiple: log(z**2), log(3*z)."""
    for node in _nodes(tree):
        if not _is_call(node, "log"):
            continue
        inside = node.args[0]
        bare = _without_number(inside)
        is_multiple = _is_product(inside) and any(_is_number(f) for f, _ in _chain(inside))
        if is_multiple or _power(bare)[1] != 1.0 or _is_call(bare, "exp"):
            yield _reason("log of a power", node)


def exps_of_logs(tree: ast.expr) -> Reasons:
    """The exponential of a logarithm: exp(x + 0.5*log(y)); not exp(x*log(y)), a variable power."""
    for node in _nodes(tree):
        if _is_call(node, "exp"):
            terms = [_without_number(term) for term in _terms(node.args[0])]
            if any(_is_call(term, "log") for term in terms):
                yield _reason("exp of a log", node)


def split_exponentials(tree: ast.expr) -> Reasons:
    """Exponentials that could be one: exp(a)*exp(b), x/exp(a), exp(a)**2, sqrt(exp(a))."""
    for product in _products(tree):
        factors = _chain(product)
        loose = [f for factor, _ in factors for f, _ in _chain(factor)]
        below = [f for factor, is_below in factors if is_below for f, _ in _chain(factor)]
        if sum(_is_call(f, "exp") for f in loose) > 1 or any(_is_call(f, "exp") for f in below):
            yield _reason("split exponential", product)
    for node in _nodes(tree):
        base, exponent = _power(node)
        if exponent != 1.0 and _is_call(_without_number(base), "exp"):
            yield _reason("split exponential", node)


def products_out_of_order(tree: ast.expr) -> Reasons:
    """Factors that are not in the order number, inputs, units: exp(y)*x.

    The root of an input, a power that is a unit, may stand with either.
    """
    for product in _products(tree):
        factors = _chain(product)
        above = [f for f, is_below in factors if not is_below]
        # The places below a slash have products of their own, which are looked at by themselves.
        is_root = [_is_call(f, "sqrt") and _is_input(_power(f)[0]) for f in above]
        pairs = zip(above, is_root, strict=True)
        # A product in brackets is counted as that.
        ranks = [_rank(f) for f, root in pairs if not root and not _is_product(f)]
        if ranks != sorted(ranks):
            yield _reason("product out of order", product)


def _rank(factor: ast.expr) -> int:
    if _is_number(factor):
        return 0
    return 1 if not _is_call(factor, "sqrt") and _is_input(_power(factor)[0]) else 2


def _is_input(node: ast.expr) -> bool:
    """Whether it is an input or a product of some, as in (x*y)**2."""
    return all(isinstance(_power(f)[0], ast.Name) for f, _ in _chain(node))


TEXT_RULES: tuple[Callable[[ast.expr], Reasons], ...] = (
    nested_quotients,
    numbers_inside,
    brackets_in_products,
    repeated_factors,
    roots_of_squares,
    logs_of_powers,
    exps_of_logs,
    split_exponentials,
    products_out_of_order,
)


def unordered_terms(expression: Expression) -> list[str]:
    """Sums whose terms are not ordered by falling degree and then by name; not counted so far.

    The degree of a term is the number of inputs among its factors, powers counted; a unit has
    none. A number stands last.
    """
    tree, names = written(expression.text())
    inner = {id(n.left) for n in _nodes(tree) if isinstance(n, ast.BinOp)}
    reasons = []
    for node in _nodes(tree):
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add | ast.Sub):
            continue
        if id(node) in inner:
            continue
        keys = [_term_key(term, names) for term in _terms(node)]
        if keys != sorted(keys):
            reasons.append(_with_names(_reason("terms out of order", node), names))
    return reasons


def _term_key(term: ast.expr, names: dict[str, str]) -> tuple[bool, float, str]:
    factors = [(f, b) for f, b in _chain(_unsigned(term)) if not _is_number(f)]
    degree = 0.0
    for factor, is_below in factors:
        base, exponent = _power(factor)
        if isinstance(base, ast.Name):
            degree += -exponent if is_below else exponent
    text = "*".join(_with_names(ast.unparse(f), names) for f, _ in factors)
    return not factors, -degree, text


# --- the constants -------------------------------------------------------------------------------


def _places(expression: Expression) -> list[int]:
    """For each affine map, in the order of `Expression.sums`, the place of its bias."""
    places, at = [], 0
    for s in expression.sums:
        places.append(at)
        at += 1 + len(s.weights)
    return places


def _node_texts(expression: Expression) -> list[str]:
    """The text of every unit."""
    d = len(expression.names)
    return [
        Expression(expression.names, expression.nodes, (Sum(0.0, (d + k,), (1.0,)),)).text(
            precision=4
        )
        for k in range(len(expression.nodes))
    ]


def _first_sums(expression: Expression) -> list[int]:
    """For each node the place of its first argument in `Expression.sums`."""
    counts = np.cumsum([0, *(len(n.args) for n in expression.nodes)])
    return [int(k) for k in counts[:-1]]


def phases(expression: Expression, errors: Array) -> Reasons:
    """Phases of waves beyond (-π, π], or such as say a sign (π) or the other wave (± π/2)."""
    places, firsts = _places(expression), _first_sums(expression)
    texts = _node_texts(expression)
    for k, node in enumerate(expression.nodes):
        if node.unit not in WAVES or node.args[0].is_constant:
            continue
        phase, error = node.args[0].bias, float(errors[places[firsts[k]]])
        near = max(WITHIN * error if error <= TELLING_PHASE else 0.0, EXACT)
        if abs(abs(phase) - math.pi) <= near:
            yield _reason("phase that is a sign", texts[k])
        elif abs(phase) > math.pi:
            yield _reason("phase beyond half a turn", texts[k])
        elif abs(abs(phase) - math.pi / 2) <= near:
            yield _reason("phase that is a quarter turn", texts[k])


def negative_waves(expression: Expression) -> Reasons:
    """Waves whose argument has a sign that can be pulled out: cos(-2*x + 1)."""
    texts = _node_texts(expression)
    for k, node in enumerate(expression.nodes):
        weights = node.args[0].weights
        if node.unit in WAVES and weights and all(w < 0.0 for w in weights):
            yield _reason("negative argument of a wave", texts[k])


def nearly_simple_exponents(expression: Expression, errors: Array) -> Reasons:
    """Exponents that mean a simple number by their error: x**0.995 ± 0.004."""
    places, firsts = _places(expression), _first_sums(expression)
    texts = _node_texts(expression)
    d = len(expression.names)
    for k, node in enumerate(expression.nodes):
        if node.unit is not EXP:
            continue
        s = node.args[0]
        for j, (i, p) in enumerate(zip(s.sources, s.weights, strict=True)):
            if i < d or expression.nodes[i - d].unit is not LOG:
                continue
            error = float(errors[places[firsts[k]] + 1 + j])
            if _means_simple(p, error):
                yield _reason(f"exponent {p:.4g} that is nearly simple", texts[k])


def _means_simple(p: float, error: float) -> bool:
    for denominator, telling in TELLING_EXPONENT.items():
        simple = round(p * denominator) / denominator
        if p == simple or abs(p - simple) <= 1e-12:
            return False
        near = max(WITHIN * error if error <= telling else 0.0, EXACT)
        if abs(simple) <= LARGEST_EXPONENT and abs(p - simple) <= near:
            return True
    return False


# --- the rows ------------------------------------------------------------------------------------


def _affine(s: Sum, values: Sequence[Array], n_rows: int) -> Array:
    total = np.full(n_rows, s.bias)
    for i, w in zip(s.sources, s.weights, strict=True):
        total = total + w * values[i]
    return total


def _values(
    expression: Expression, X: Array, k: int = -1, instead: Array | None = None
) -> list[Array]:
    """Values of all sources, node `k` being replaced by the given values."""
    values = [X[:, i] for i in range(len(expression.names))]
    for place, node in enumerate(expression.nodes):
        if place == k and instead is not None:
            values.append(instead)
        else:
            values.append(node.unit(*(_affine(a, values, len(X)) for a in node.args)))
    return values


def cancelling_terms(expression: Expression, X: Array) -> Reasons:
    """Sums of large terms that nearly cancel (`ieql.equations.differences.cancelling_sums`)."""
    places = cancelling_sums(expression, X)
    texts = _sum_texts(expression) if places else []
    for place in places:
        yield _reason("large terms that cancel", texts[place])


def _sum_texts(expression: Expression) -> list[str]:
    sums = expression.sums
    whole = Expression(expression.names, expression.nodes, sums)
    return [whole.text(k, precision=4) for k in range(len(sums))]


def unseen_bends(
    expression: Expression, X: Array, domain: Array | None = None, noise: float | None = None
) -> Reasons:
    """Units of which the rows see so little that a line or a parabola does as well.

    The best line (or parabola) through the unit on the rows may change the output by no more than a
    tenth of the noise, or without noise a thousandth of the spread, and must not have more
    constants than the unit: 3*log(x) has one, and stays.
    """
    values = _values(expression, X)
    output = _affine(expression.outputs[0], values, len(X))
    spread = float(np.std(output))
    if len(X) < 4 or not math.isfinite(spread):
        return
    allowed = PART_OF_NOISE * noise if noise else PART_OF_SPREAD * spread
    own = OWN_PART if noise else PART_OF_SPREAD
    sets = [X] if domain is None else [X, np.asarray(domain, dtype=np.float64)]
    texts = _node_texts(expression)
    for k, node in enumerate(expression.nodes):
        if node.unit not in BENT or node.args[-1].is_constant:
            continue
        z = _affine(node.args[-1], values, len(X))
        if not np.ptp(z) > 0.0:
            continue
        for degree in (1, 2):
            if _n_constants(expression, k) <= degree:
                break  # with as few constants as this, it says more than the curve would
            curve = _curve(node.unit is DIV, node.unit, z, degree)
            if curve is None:
                break
            if all(_is_same(expression, k, P, curve, allowed, own) for P in sets):
                kind = "line" if degree == 1 else "parabola"
                yield _reason(f"{node.unit.name} that is a {kind} on the rows", texts[k])
                break


def _n_constants(expression: Expression, k: int) -> int:
    """Constants of ``a·f(b·z + c) + d`` in the place of unit `k`, those that cancel not counted."""
    node = expression.nodes[k]
    argument = node.args[-1]
    inside = 1 if node.unit is EXP else int(argument.bias != 0.0) + (node.unit in WAVES)
    if node.unit is DIV and not node.args[0].is_constant:
        return inside + 1  # what stands above multiplies the curve, but not an offset beside it
    source = len(expression.names) + k
    return inside + 1 + any(source in s.sources and s.bias != 0.0 for s in expression.sums)


def _curve(
    is_quotient: bool, unit: Callable[..., Array], z: Array, degree: int
) -> Callable[[Array], Array] | None:
    """The best polynomial through a unit's values, or through 1/z for a quotient."""
    value = 1.0 / z if is_quotient else unit(z)
    if not np.all(np.isfinite(value)):
        return None
    fitted = np.polynomial.Polynomial.fit(z, value, degree)
    return lambda points: np.asarray(fitted(points))


def _is_same(
    expression: Expression,
    k: int,
    X: Array,
    curve: Callable[[Array], Array],
    allowed: float,
    own: float,
) -> bool:
    values = _values(expression, X)
    node = expression.nodes[k]
    args = [_affine(a, values, len(X)) for a in node.args]
    before = values[len(expression.names) + k]
    instead = curve(args[-1]) * (args[0] if node.unit is DIV else 1.0)
    moved = float(np.sqrt(np.mean((instead - before) ** 2)))
    after = _affine(expression.outputs[0], _values(expression, X, k, instead), len(X))
    change = after - _affine(expression.outputs[0], values, len(X))
    return moved <= own * float(np.std(before)) and float(np.sqrt(np.mean(change**2))) <= allowed
