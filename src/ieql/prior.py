"""Expert knowledge: which units may appear, what each costs, and how they may be composed.

Implements the paper's expert inputs: the set of atomic units and the prohibited compositions of
section "Architecture" (equation "prohibited_components") and the complexity factors c_u of section
"Complexity Measure" (the table of domain specific complexity factors).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

from ieql.entries import as_count, as_finite, as_mapping, as_strings, refuse_duplicates
from ieql.errors import IeqlError, counted, nearest, shown
from ieql.quantities import FREE, PLAIN, checked_constants, checked_quantities, quantity
from ieql.rules import WHOLE_KEYS, Rules
from ieql.shape import Shape
from ieql.units import (
    COS,
    DIV,
    EXP,
    LOG,
    MACHINE_UNITS,
    MUL,
    POWER,
    SIN,
    SQRT,
    SQUARE,
    UNITS,
    Unit,
    is_taken,
    registered_unit,
    unit,
)

__all__ = ["PRESETS", "Prior", "parse_yaml"]

MAX_FILE_BYTES = 200_000
"""PyYAML reads about 100 kB in a second."""
MAX_SCALAR = 10_000
"""Characters of one name or number: of a longer one PyYAML makes a huge integer, and slowly."""
PLAIN_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
"""PyYAML also reads 1_000, 010, 0x10 and 12:30, as 1000, 8, 16 and 750: no user means that."""
PLAIN_FLOAT = re.compile(r"[^_:]*")
KEYS = (
    *("preset", "units", "costs", "prohibit", "inputs", "layers", "copies", "shape"),
    *("quantities", "constants"),
    *WHOLE_KEYS,
)
NOTHING: Mapping[str, Any] = {
    "units": (), "prohibit": (), "inputs": {}, "costs": {}, "quantities": {}, "constants": FREE,
    **dict.fromkeys(WHOLE_KEYS[:3], ()),
}  # fmt: skip
"""What a key means that has nothing beside it."""
RULES = ("not_in", "only_in")
WAVES = (COS.name, SIN.name)
"""Units that differ by a phase: one is a notation of the other."""

# The unit set of the paper's appendix "iEQL Training" and the four pairs of its equation
# "prohibited_components".
PAPER_UNITS = tuple(u.name for u in (COS, EXP, LOG, SQRT, SQUARE, MUL, DIV))
PAPER_PAIRS = ("cos(cos)", "cos(exp)", "exp(exp)", "log(log)")
PLAIN_COSTS = dict.fromkeys(("input", *PAPER_UNITS), 1)
MOTOR_COSTS = {
    "input": 1,
    MUL.name: 2,
    DIV.name: 5,
    SQUARE.name: 2,
    LOG.name: 5,
    SQRT.name: 3,
    EXP.name: 5,
    COS.name: 10,
}

# Powers with a fitted exponent are exponentials of logarithms there: x**1.7. A unit costs more than
# a plain one, and less than two, of which one could make a peak or an absolute value.
ENGINEERING_UNITS = tuple(u.name for u in MACHINE_UNITS if u is not POWER)
ENGINEERING_COSTS = PLAIN_COSTS | dict.fromkeys(ENGINEERING_UNITS, 1.5)

_COMPOSITION = re.compile(r"\s*(\w+)\s*\(([^()]*)\)\s*")


@dataclass(frozen=True, eq=False)
class Prior:
    """Expert knowledge about the equation to be found.

    A prior is checked when it is made and never changes afterwards; it can be compared, hashed,
    copied and pickled.

    Parameters
    ----------
    units : sequence of str
        Names of the units the network may use. The names of `custom` units are added if missing.
    costs : mapping of str to float
        Complexity factor c_u per unit name, and for ``"input"``. A missing unit gets its own
        default cost, a missing input 1; the attribute always holds the complete table.
    prohibit : sequence of str
        Prohibited direct compositions: ``"cos(exp)"`` for every argument of the outer unit,
        ``"div(_, div)"`` for one argument only.
    inputs : mapping of str to mapping
        Per input column ``{"not_in": [...]}`` or ``{"only_in": [...]}``, a list of unit names or
        ``"output"`` (a direct linear term). An empty ``only_in`` excludes the column.
    layers, copies : int or None
        Number of hidden layers, and of copies of each unit per layer; None lets the search vary it.
    custom : sequence of Unit
        User-defined units, looked up before the table of units.
    shape : Shape or mapping
        What is known of the output on the declared domain, see `ieql.shape.Shape`:
        ``{"bounds": [0, 250], "increasing": ["load"]}``. Every equation that is shown keeps to it.
    quantities : mapping of str to str
        Physical units of columns, the target's included: ``{"speed": "1/min"}``. Other columns are
        plain numbers.
    constants : str or sequence of str
        Which physical units the constants of an equation may carry: ``"free"`` (any, each takes the
        one that is missing), ``"plain"`` (none), or a list of them.
    target : str, optional
        The column that an equation is about; a fit sets it, see `for_target`.
    require : sequence of str
        Inputs that every equation has.
    together : sequence of sequences of str
        Of each of these lists an equation has all inputs or none. A single list may stand alone.
    apart : sequence of sequences of str
        Of each of these lists an equation has one input at most. A single list may stand alone.
    max_units : int or None
        Units that an equation has at most: squares, products, logarithms …

    Examples
    --------
    >>> from ieql import Prior
    >>> prior = Prior.of({"preset": "motor", "costs": {"cos": 20}})
    >>> prior.cost("cos"), prior.cost("div")
    (20.0, 5.0)
    >>> prior.allows("cos", 0, "exp")
    False
    """

    units: tuple[str, ...] = PAPER_UNITS
    costs: Mapping[str, float] = field(default_factory=dict)
    prohibit: tuple[str, ...] = PAPER_PAIRS
    inputs: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    layers: int | None = None
    copies: int | None = None
    custom: tuple[Unit, ...] = ()
    shape: Shape = field(default_factory=Shape)
    quantities: Mapping[str, str] = field(default_factory=dict)
    constants: str | tuple[str, ...] = FREE
    target: str | None = field(default=None, repr=False)
    require: tuple[str, ...] = ()
    together: tuple[tuple[str, ...], ...] = ()
    apart: tuple[tuple[str, ...], ...] = ()
    max_units: int | None = None
    rules: Rules = field(init=False, repr=False)
    """The last four, about equations as a whole."""
    _forbidden: frozenset[tuple[str, int, str]] = field(init=False, repr=False)
    _answers: dict[tuple[str, int, str], bool] = field(init=False, repr=False, compare=False)
    _rules: dict[tuple[str, ...], Any] = field(init=False, repr=False, compare=False)
    """What `ieql.equations.dimensions` has made of the quantities, by the names of the inputs."""

    def __post_init__(self) -> None:
        custom = _checked_custom(self.custom)
        custom += _registered(self.units, custom)
        known = {**UNITS, **{u.name: u for u in custom}}
        units = _names(self.units, known, "units")
        if not units and not custom:
            raise IeqlError("The prior allows no unit; list at least one under 'units'.")
        units += tuple(u.name for u in custom if u.name not in units)
        pairs = [_composition(text, known) for text in as_strings(self.prohibit, "prohibit")]
        prohibit = tuple(text for text, _ in pairs)
        refuse_duplicates(prohibit, "prohibit")

        def assign(name: str, value: object) -> None:
            object.__setattr__(self, name, value)  # the dataclass is frozen for everyone else

        assign("custom", custom)
        assign("units", units)
        assign("costs", MappingProxyType(_checked_costs(self.costs, known)))
        assign("prohibit", prohibit)
        assign("inputs", MappingProxyType(_checked_inputs(self.inputs, known)))
        assign("layers", as_count(self.layers, "layers"))
        assign("copies", as_count(self.copies, "copies"))
        assign("shape", Shape.of(self.shape))
        assign("quantities", checked_quantities(self.quantities))
        assign("constants", checked_constants(self.constants))
        excluded = [name for name, rule in self.inputs.items() if rule.get("only_in") == ()]
        limit = as_count(self.max_units, "max_units")
        rules = Rules.checked(self.require, self.together, self.apart, limit, excluded)
        assign("rules", rules)
        for key in WHOLE_KEYS:
            assign(key, getattr(rules, key))
        assign("_forbidden", frozenset().union(*(connections for _, connections in pairs)))
        assign("_answers", {})
        assign("_rules", {})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Prior):
            return NotImplemented
        return self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self._content())

    def _content(self) -> tuple[object, ...]:
        """Return all that makes two priors the same, hashable."""
        costs = frozenset(self.costs.items())
        rules = frozenset((column, *rule.items()) for column, rule in self.inputs.items())
        # Custom units compare by identity, which an unpickled one may have lost.
        custom = tuple(u.content for u in self.custom)
        quantities = frozenset(self.quantities.items())
        physical = quantities, self.constants, self.target, self.shape, self.rules
        return self.units, costs, self.prohibit, rules, self.layers, self.copies, custom, physical

    def __deepcopy__(self, memo: object) -> Prior:
        return self  # it never changes

    def __reduce__(self) -> tuple[Any, ...]:
        # Mapping proxies do not pickle; the constructor makes them again.
        inputs = {column: dict(rule) for column, rule in self.inputs.items()}
        arguments: tuple[Any, ...] = (self.units, dict(self.costs), self.prohibit, inputs)
        arguments += (self.layers, self.copies, self.custom, self.shape)
        arguments += (dict(self.quantities), self.constants, self.target)
        return type(self), (*arguments, self.require, self.together, self.apart, self.max_units)

    def for_target(self, name: str | None) -> Prior:
        """The same about one column: only then can dimensions be judged; None takes that away."""
        return self if name == self.target else replace(self, target=name)

    # What the rest of the package asks ------------------------------------------------------

    def unit(self, name: str) -> Unit:
        """Return the unit of that name, custom units first."""
        custom = {u.name: u for u in self.custom} if self.custom else None
        return unit(name, custom)

    @property
    def named_units(self) -> dict[str, Unit]:
        """Units that mean something only because the prior names them, for those who read texts.

        Those of the user's own, and of the table those whose names are not taken.
        """
        named = [self.unit(name) for name in self.units if not is_taken(name)]
        return {u.name: u for u in (*named, *self.custom)}

    def has_unit(self, name: str) -> bool:
        """Tell whether equations may have this unit: it, or the wave that it is a notation of."""
        return self._meant(name) in self.units

    def _meant(self, name: str) -> str:
        """Return the unit by which one is judged: of the waves, the one among `units`.

        A sine is a cosine with another phase; where it is shorter, it is written.
        """
        if name in self.units or name not in WAVES:
            return name
        return next((wave for wave in WAVES if wave in self.units), name)

    def cost(self, source: str) -> float:
        """Return the complexity of one connection that leaves `source`, a unit name or ``"input"``.

        This is the one place where complexity is attributed (paper, section "Complexity Measure",
        L_C = sum_u c_u ||W_u||_0): a weight costs the factor c_u of the unit it comes from.
        """
        source = self._meant(source)
        if source not in self.costs:
            _refuse_unit(source, self.costs, "prior")
        return self.costs[source]

    def allows(self, outer: str, argument: int, inner: str) -> bool:
        """Tell whether unit `inner` may directly feed argument `argument` (from 0) of `outer`.

        `outer` is a unit name or ``"output"``. Only the composition is judged (paper, equation
        "prohibited_components"), not whether the two units are among `units`.
        """
        question = (outer, argument, inner)
        if question not in self._answers:  # the learner asks the same thousands of times
            self._check_argument(outer, argument)
            self.unit(inner)
            meant = (self._meant(outer), argument, self._meant(inner))
            allowed = meant not in self._forbidden
            self._answers[question] = allowed and not self._takes_number(outer, argument)
        return self._answers[question]

    def allows_input(self, outer: str, argument: int, column: str) -> bool:
        """Tell whether input `column` may directly feed argument `argument` (from 0) of `outer`.

        `outer` is a unit name, or ``"output"`` for a direct linear term in the output.
        """
        self._check_argument(outer, argument)
        if self._takes_number(outer, argument):
            return False
        if not self.inputs:
            return True
        rule = self.inputs.get(column, {})
        outer = self._meant(outer)
        if "only_in" in rule:
            return outer in rule["only_in"]
        return outer not in rule.get("not_in", ())

    @property
    def for_parts(self) -> Prior:
        """What holds for drafts and parts of an equation, too.

        An equation that lacks an input may be a step to one that has it, and one of too many units
        may be cut down; but inputs that stay apart do so in every part.
        """
        if not (self.require or self.together or self.max_units is not None):
            return self
        return replace(self, require=(), together=(), max_units=None)

    def without(self, inputs: Iterable[str]) -> Prior:
        """The same prior, but no equation may have these inputs."""
        return replace(self, inputs={**self.inputs, **{name: {"only_in": ()} for name in inputs}})

    def _takes_number(self, outer: str, argument: int) -> bool:
        return outer != "output" and self.unit(outer).takes_number(argument)

    def _check_argument(self, outer: str, argument: int) -> None:
        arity = 1 if outer == "output" else self.unit(outer).arity
        if not 0 <= argument < arity:
            raise IeqlError(
                f"{outer} has {counted(arity, 'argument')}, so there is no argument {argument}."
            )

    def check_columns(self, names: Iterable[str], targets: Iterable[str] = ()) -> None:
        """Refuse rules about columns that are not among the data's `names`, and `targets`."""
        names, targets = list(names), list(targets)
        self._check_quantities([*names, *targets], targets)
        for column in self.inputs:
            if column not in names:
                raise IeqlError(
                    f"The prior has a rule for input {shown(column)}, "
                    f"which is not a column of the data.{nearest(column, names)}"
                )
        self.shape.check_columns(names)
        for key, column in self.rules.names:
            if column not in names:
                raise IeqlError(
                    f"The prior names {shown(column)} under {key!r}, which is not a column of the "
                    f"data.{nearest(column, names)}"
                )

    def _check_quantities(self, columns: list[str], targets: list[str]) -> None:
        for column, text in self.quantities.items():
            if column not in columns:
                raise IeqlError(
                    f"The prior has a unit for {shown(column)}, which is not a column of the "
                    f"data.{nearest(column, columns)}"
                )
            quantity(text)  # says so if that is not installed which knows units
        if not self.quantities or self.constants == FREE:
            return
        for name in targets:
            if name not in self.quantities:
                raise IeqlError(
                    f"The prior has units of columns, but none of the target {shown(name)}; add it "
                    "under 'quantities', with 1 for a plain number."
                )

    def words(self) -> list[str]:
        """Return the prior in plain sentences."""
        lines = [f"the equation may use {', '.join(self.units)}"]
        costs = {name: self.costs[name] for name in ("input", *self.units)}
        if len(set(costs.values())) == 1:
            lines.append(f"every input and unit costs {costs['input']:g} per connection")
        else:
            lines += [f"{name} costs {cost:g} per connection" for name, cost in costs.items()]
        lines += [f"{pair} is prohibited" for pair in self.prohibit]
        for column, rule in self.inputs.items():
            for kind, places in rule.items():
                lines.append(_rule_in_words(column, kind, places))
        lines += self.rules.words()
        for key in ("layers", "copies"):
            count = getattr(self, key)
            if count is not None:
                lines.append(f"the number of {key} is {count}")
        lines += [f"{column} is in {unit or '1'}" for column, unit in self.quantities.items()]
        if self.quantities and self.constants != FREE:
            listed = "" if self.constants == PLAIN else f" or are in {', '.join(self.constants)}"
            lines.append(f"constants are plain numbers{listed}")
        return lines + self.shape.words()

    # Reading and writing --------------------------------------------------------------------

    @classmethod
    def of(cls, spec: object) -> Prior:
        """Return the prior meant by `spec`: a preset name, a YAML file, a mapping or a `Prior`."""
        if isinstance(spec, Prior):
            return spec
        if isinstance(spec, Mapping):
            return cls.from_dict(spec)
        if isinstance(spec, str) and spec in PRESETS:
            return PRESETS[spec]
        if isinstance(spec, str | os.PathLike):
            return cls._from_file(Path(os.fsdecode(spec)))
        raise IeqlError(
            f"A prior is a preset name ({', '.join(PRESETS)}), the path of a YAML file, a mapping "
            f"or a Prior, not {shown(spec)} of type {type(spec).__name__}."
        )

    @classmethod
    def _from_file(cls, path: Path) -> Prior:
        name = shown(str(path))
        try:
            if not path.is_file():
                raise IeqlError(
                    f"The prior {name} is neither a preset ({', '.join(PRESETS)}) nor an existing "
                    f"file.{nearest(str(path), PRESETS)}"
                )
            with path.open("rb") as file:
                content = file.read(MAX_FILE_BYTES + 1)
            if len(content) > MAX_FILE_BYTES:
                raise IeqlError(
                    f"The prior file {name} is larger than 200 kB; is it the right file?"
                )
            text = content.decode("utf-8-sig")
        except OSError as error:
            raise IeqlError(f"The prior file {name} cannot be read: {error.strerror}.") from error
        except UnicodeDecodeError as error:
            raise IeqlError(f"The prior file {name} is not UTF-8 text, so not YAML.") from error
        try:
            return cls.from_yaml(text)
        except IeqlError as error:
            raise IeqlError(f"Prior file {name}: {error}") from error

    @classmethod
    def from_yaml(cls, text: str) -> Prior:
        """Read a prior from YAML text; see `from_dict` for the keys."""
        return cls.from_dict(parse_yaml(text))

    @classmethod
    def from_dict(cls, mapping: Mapping[str, Any]) -> Prior:
        """Make a prior from a mapping of settings.

        The settings start from those of ``preset`` (default: plain). ``costs`` change single
        entries of the preset's table; each other key (``units``, ``prohibit``, ``inputs``,
        ``layers``, ``copies``, ``shape``, ``quantities``, ``constants``, ``require``, ``together``,
        ``apart``, ``max_units``) replaces the preset's value.
        """
        if not isinstance(mapping, Mapping):
            raise IeqlError(
                f"A prior is a mapping with the keys {', '.join(KEYS)}, not {shown(mapping)}."
            )
        for key in mapping:
            if key == "custom":
                raise IeqlError("Custom units are given in Python only, as Prior(custom=...).")
            if key not in KEYS:
                hint = nearest(str(key), KEYS) or f" Valid keys: {', '.join(KEYS)}."
                raise IeqlError(f"Unknown key {shown(key)} in the prior.{hint}")
        name = mapping.get("preset", "plain")
        if not isinstance(name, str) or name not in PRESETS:
            hint = nearest(shown(name), PRESETS) or f" Valid presets: {', '.join(PRESETS)}."
            raise IeqlError(f"Unknown preset {shown(name)} in the prior.{hint}")
        start = PRESETS[name]
        settings: dict[str, Any] = {
            key: mapping.get(key, getattr(start, key)) for key in KEYS if key != "preset"
        }
        for key, nothing in NOTHING.items():
            if settings[key] is None:  # "prohibit:" with every line below commented out
                settings[key] = nothing
        settings["costs"] = {**start.costs, **as_mapping(settings["costs"], "costs")}
        return cls(**settings)

    @property
    def unregistered(self) -> tuple[str, ...]:
        """Names of the custom units that were not registered: no file can hold them."""
        return tuple(u.name for u in self.custom if registered_unit(u.name) != u)

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, mappings and numbers from which `from_dict` makes an equal prior."""
        if self.unregistered:
            raise IeqlError(
                f"A prior with custom units ({', '.join(self.unregistered)}) cannot be written "
                "down; their functions exist in Python only. Keep the Prior object, register the "
                "units (`ieql.units.register_unit`), or remove them."
            )
        plain = PRESETS["plain"].costs
        shown = {"input", *self.units} | {n for n, c in self.costs.items() if c != plain.get(n, c)}
        result: dict[str, Any] = {
            "units": list(self.units),
            "costs": {n: _short_number(c) for n, c in self.costs.items() if n in shown},
            "prohibit": list(self.prohibit),
        }
        if self.inputs:
            result["inputs"] = {
                column: {kind: list(places) for kind, places in rule.items()}
                for column, rule in self.inputs.items()
            }
        for key in ("layers", "copies"):
            if getattr(self, key) is not None:
                result[key] = getattr(self, key)
        if self.shape:
            result["shape"] = self.shape.to_dict()
        if self.quantities:
            result["quantities"] = dict(self.quantities)
        if self.constants != FREE:
            is_word = isinstance(self.constants, str)
            result["constants"] = self.constants if is_word else list(self.constants)
        return result | self.rules.to_dict()

    def to_yaml(self) -> str:
        """Return YAML text from which `from_yaml` makes an equal prior."""
        import yaml

        content = self.to_dict()
        # Flow style None writes the innermost lists and mappings on one line each.
        style: dict[str, Any] = {"default_flow_style": None, "sort_keys": False, "width": 100}
        # Some characters count as line breaks in YAML and are only safe when escaped.
        ruled = [name for _, name in self.rules.names]
        plain = not any(
            c in name
            for name in (*self.inputs, *self.shape.columns, *self.quantities, *ruled)
            for c in "\x85\u2028\u2029"
        )
        return str(yaml.safe_dump(content, allow_unicode=plain, **style))


def parse_yaml(text: str) -> Any:
    """Return the content of YAML text; a key written twice is refused, not silently overruled.

    The text may come from anyone: it makes plain values only, and not too many of them.
    """
    import yaml

    if len(text) > MAX_FILE_BYTES:
        raise IeqlError(f"The text is longer than {MAX_FILE_BYTES:,} characters.")

    class Loader(yaml.SafeLoader):
        def flatten_mapping(self, node: yaml.MappingNode) -> None:
            # Merges of merges multiply: a few lines of them would fill the memory.
            if any(key.tag == "tag:yaml.org,2002:merge" for key, _ in node.value):
                raise IeqlError("Merging mappings with '<<' is not supported; write them out.")
            super().flatten_mapping(node)

        def construct_scalar(self, node: yaml.ScalarNode | yaml.MappingNode) -> Any:
            if len(node.value) > MAX_SCALAR:
                raise IeqlError(
                    f"{shown(node.value)} in line {node.start_mark.line + 1} is longer than "
                    f"{MAX_SCALAR:,} characters."
                )
            return super().construct_scalar(node)

        def plain_int(self, node: yaml.ScalarNode) -> int:
            self.refuse_unless(PLAIN_INT, node)
            return int(self.construct_yaml_int(node))

        def plain_float(self, node: yaml.ScalarNode) -> float:
            self.refuse_unless(PLAIN_FLOAT, node)
            return float(self.construct_yaml_float(node))

        def refuse_unless(self, plain: re.Pattern[str], node: yaml.ScalarNode) -> None:
            text = str(self.construct_scalar(node))
            if not plain.fullmatch(text):
                raise IeqlError(
                    f"{shown(text)} in line {node.start_mark.line + 1} is not a plain number; "
                    "write decimal digits alone, or quotation marks around it if it is a name."
                )

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
            refuse_duplicates(keys, "YAML keys")
            return super().construct_mapping(node, deep=deep)

    Loader.add_constructor("tag:yaml.org,2002:int", Loader.plain_int)
    Loader.add_constructor("tag:yaml.org,2002:float", Loader.plain_float)
    try:
        return yaml.load(text, Loader=Loader)
    except IeqlError:
        raise
    except yaml.MarkedYAMLError as error:
        line = f" (line {error.problem_mark.line + 1})" if error.problem_mark else ""
        raise IeqlError(f"The text is not valid YAML: {error.problem}{line}.") from error
    except Exception as error:  # on odd tags and deep nesting PyYAML lets plain exceptions through
        raise IeqlError(f"The text is not valid YAML ({type(error).__name__}).") from error


def _checked_custom(custom: object) -> tuple[Unit, ...]:
    if not isinstance(custom, Sequence):
        raise IeqlError(f"custom: give a list of Unit objects, not {shown(custom)}.")
    for u in custom:
        if not isinstance(u, Unit):
            raise IeqlError(f"custom: {shown(u)} is not a Unit; define it with Unit(...).")
        if u.name == "_":
            raise IeqlError("custom: '_' stands for any argument in 'prohibit'; rename the unit.")
    refuse_duplicates([u.name for u in custom], "custom")
    return tuple(custom)


def _registered(names: object, custom: Sequence[Unit]) -> tuple[Unit, ...]:
    """Units among `names` that are not given, but have been registered."""
    given = {u.name for u in custom}
    new = [n for n in as_strings(names, "units") if not is_taken(n) and n not in given]
    found = [registered_unit(name) for name in dict.fromkeys(new)]
    return tuple(u for u in found if u is not None)


def _checked_costs(costs: object, known: Mapping[str, Unit]) -> dict[str, float]:
    """Return the complete table of complexity factors c_u, defaults filled in."""
    table = {"input": 1.0} | {name: float(u.cost) for name, u in known.items()}
    for name, cost in as_mapping(costs, "costs").items():
        if name not in table:
            _refuse_unit(name, table, "costs")
        number = as_finite(cost)
        if number is None or number <= 0:
            raise IeqlError(
                f"costs: the cost of {name!r} must be a positive, finite number, not {shown(cost)}."
            )
        table[name] = number
    return table


def _checked_inputs(
    inputs: object, known: Mapping[str, Unit]
) -> dict[str, Mapping[str, tuple[str, ...]]]:
    checked: dict[str, Mapping[str, tuple[str, ...]]] = {}
    for column, rule in as_mapping(inputs, "inputs").items():
        if not isinstance(column, str):
            raise IeqlError(f"inputs: put the column name {shown(column)} in quotes.")
        where = f"inputs, {shown(column)}"
        rule = as_mapping(rule, where)
        for kind in rule:
            if kind not in RULES:
                hint = nearest(str(kind), RULES) or " Use 'not_in' or 'only_in'."
                raise IeqlError(f"{where}: unknown rule {shown(kind)}.{hint}")
        if len(rule) != 1:
            raise IeqlError(f"{where}: give either 'not_in' or 'only_in', and not both.")
        ((kind, places),) = rule.items()
        places = _names(places, [*known, "output"], f"{where}, {kind}")
        checked[column] = MappingProxyType({kind: places})
    return checked


def _composition(
    text: str, known: Mapping[str, Unit]
) -> tuple[str, frozenset[tuple[str, int, str]]]:
    """Return a prohibited composition in its usual spelling, and the connections it removes."""
    match = _COMPOSITION.fullmatch(text)
    if match is None:
        raise IeqlError(
            f"prohibit: {shown(text)} is not a composition; write 'cos(exp)', or 'div(_, div)' for "
            "the second argument only."
        )
    outer, arguments = match[1], [argument.strip() for argument in match[2].split(",")]
    named = [(index, name) for index, name in enumerate(arguments) if name != "_"]
    for name in (outer, *(name for _, name in named)):
        if name not in known:
            _refuse_unit(name, known, f"prohibit, {shown(text)}")
    arity = known[outer].arity
    if len(named) != 1 or len(arguments) not in (1, arity):
        raise IeqlError(
            f"prohibit: {shown(text)} must name exactly one inner unit, either alone or in one of "
            f"the {counted(arity, 'place')} of {outer} with '_' in the others."
        )
    place, inner = named[0]
    places = range(arity) if len(arguments) == 1 else (place,)
    spelling = f"{outer}({', '.join(arguments)})"
    return spelling, frozenset((outer, place, inner) for place in places)


def _names(value: object, valid: Iterable[str], where: str) -> tuple[str, ...]:
    valid = list(valid)
    names = as_strings(value, where)
    for name in names:
        if name not in valid:
            _refuse_unit(name, valid, where)
    refuse_duplicates(names, where)
    return names


def _refuse_unit(name: object, valid: Iterable[str], where: str) -> NoReturn:
    valid = list(valid)
    hint = nearest(str(name), valid) or f" Valid names: {', '.join(valid)}."
    raise IeqlError(f"{where}: there is no unit {shown(name)}.{hint}")


def _rule_in_words(column: str, kind: str, places: tuple[str, ...]) -> str:
    names = ["the output" if place == "output" else place for place in places]
    listed = " or ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
    if kind == "only_in":
        return f"{column} enters only {listed} directly" if names else f"{column} is not used"
    return f"{column} does not enter {listed} directly" if names else f"{column} enters any unit"


def _short_number(value: float) -> float:
    """Return whole numbers as int, so that they are written as ``2`` and not ``2.0``."""
    return int(value) if value.is_integer() and value < 1e15 else value


PRESETS: Mapping[str, Prior] = MappingProxyType(
    {
        "plain": Prior(costs=PLAIN_COSTS),
        "motor": Prior(costs=MOTOR_COSTS),
        # The fifth pair stands commented out in the paper's equation "prohibited_components", but
        # only with it does the network have the 6405 weights of the appendix.
        "paper": Prior(
            costs=PLAIN_COSTS, prohibit=(*PAPER_PAIRS, "div(_, div)"), layers=4, copies=4
        ),
        # Nothing is saturated, switched or bent twice by the same unit.
        "engineering": Prior(
            units=(*PAPER_UNITS, *ENGINEERING_UNITS),
            costs=ENGINEERING_COSTS,
            prohibit=(
                *PAPER_PAIRS,
                *(f"{u.name}({u.name})" for u in MACHINE_UNITS if u.arity == 1),
            ),
        ),
    }
)
