"""What a functional mock-up unit says of itself: the descriptions of FMI 2.0 and 3.0 in XML."""

from __future__ import annotations

import math
from dataclasses import dataclass
from xml.sax.saxutils import quoteattr

from ieql.export.functions import Domain, Equation, Function
from ieql.export.names import printable
from ieql.export.origin import Origin, about, generated

__all__ = ["TOKEN", "Model", "Variable", "build_description", "description_2", "description_3"]

TOKEN = "{TOKEN}"
"""Stands for what ties description and library together, until all else is known."""


@dataclass(frozen=True)
class Variable:
    """A variable of the unit; its reference is its place in the list of all of them."""

    name: str
    description: str
    start: float | None = None
    low: float | None = None
    high: float | None = None
    unit: str = ""


@dataclass(frozen=True)
class Model:
    """What a unit holds; references count the time, the inputs, the parameters, the outputs."""

    name: str
    equations: tuple[Equation, ...]
    functions: tuple[Function, ...]
    columns: tuple[str, ...]
    inputs: tuple[Variable, ...]
    parameters: tuple[Variable, ...]
    outputs: tuple[Variable, ...]
    first_parameter: tuple[int, ...]
    """Where the constants of each equation begin, among all parameters."""
    domain: Domain
    origin: Origin

    @property
    def n_before_outputs(self) -> int:
        """The reference of the first output."""
        return 1 + len(self.inputs) + len(self.parameters)

    def references_of(self, k: int) -> list[int]:
        """The inputs and parameters that output k depends on."""
        ends = [*self.first_parameter[1:], len(self.parameters)]
        own = range(self.first_parameter[k], ends[k])
        used = [1 + self.columns.index(column) for column, _ in self.functions[k].arguments]
        return used + [1 + len(self.inputs) + i for i in own]


def _attributes(**given: object) -> str:
    """Attributes of XML; those that are None are left out."""
    return "".join(
        f" {name}={quoteattr(printable(str(value)))}"
        for name, value in given.items()
        if value is not None
    )


def _summary(model: Model) -> str:
    lines = about(model.equations, model.domain, model.origin)
    return " | ".join(line.strip() for line in lines)[:2000]


def _limits(variable: Variable) -> dict[str, object]:
    """Start, bounds and unit, in the order of the standard."""
    low, high = variable.low, variable.high
    return {
        "unit": variable.unit or None,
        "min": None if low is None or not math.isfinite(low) else repr(low),
        "max": None if high is None or not math.isfinite(high) else repr(high),
        "start": None if variable.start is None else repr(float(variable.start)),
    }


def _units(model: Model) -> list[str]:
    units = dict.fromkeys(v.unit for v in (*model.inputs, *model.outputs) if v.unit)
    if not units:
        return []
    return [
        "  <UnitDefinitions>",
        *(f"    <Unit{_attributes(name=unit)}/>" for unit in units),
        "  </UnitDefinitions>",
    ]


def _variables(model: Model) -> list[tuple[Variable, str]]:
    """All variables but the time, and their attributes but for bounds, start and unit."""
    kinds: list[tuple[tuple[Variable, ...], dict[str, object]]] = [
        (model.inputs, {"causality": "input"}),
        (
            model.parameters,
            {"causality": "parameter", "variability": "tunable", "initial": "exact"},
        ),
        (
            model.outputs,
            {"causality": "output", "variability": "continuous", "initial": "calculated"},
        ),
    ]
    pairs = [(variable, kind) for variables, kind in kinds for variable in variables]
    return [
        (v, _attributes(name=v.name, valueReference=k, description=v.description, **kind))
        for k, (v, kind) in enumerate(pairs, start=1)
    ]


def _unknowns(model: Model) -> list[tuple[str, int, list[int]]]:
    """Output or InitialUnknown, the reference of an output, and those that it depends on."""
    found = []
    for element in ("Output", "InitialUnknown"):
        for k in range(len(model.outputs)):
            on = sorted(model.references_of(k))
            if element == "Output":  # parameters are none of what an output can change with
                on = [i for i in on if i <= len(model.inputs)]
            found.append((element, model.n_before_outputs + k, on))
    return found


def description_2(model: Model) -> str:
    """The file modelDescription.xml of FMI 2.0."""
    common = _attributes(modelIdentifier=model.name)
    files = ["    <SourceFiles>", '      <File name="fmi2.c"/>', "    </SourceFiles>"]
    state = ' canNotUseMemoryManagementFunctions="true" canGetAndSetFMUstate="true"'
    state += ' canSerializeFMUstate="true"'
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<fmiModelDescription fmiVersion="2.0"']
    lines += [f" {_attributes(modelName=model.name, guid=TOKEN, description=_summary(model))}"]
    tool = _attributes(generationTool=generated().rstrip("."), numberOfEventIndicators=0)
    lines += [f" {tool}>"]
    lines += [f"  <ModelExchange{common}{state}>", *files, "  </ModelExchange>"]
    lines += [f'  <CoSimulation{common} canHandleVariableCommunicationStepSize="true"{state}>']
    lines += [*files, "  </CoSimulation>", *_units(model), "  <ModelVariables>"]
    lines += ['    <ScalarVariable name="time" valueReference="0" causality="independent"']
    lines += ['        variability="continuous"><Real/></ScalarVariable>']
    for variable, attributes in _variables(model):
        lines.append(f"    <ScalarVariable{attributes}>")
        lines.append(f"      <Real{_attributes(**_limits(variable))}/></ScalarVariable>")
    lines += ["  </ModelVariables>", "  <ModelStructure>"]
    for element in ("Output", "InitialUnknown"):
        lines.append(f"    <{element}s>")
        for kind, reference, on in _unknowns(model):
            depends = " ".join(str(i + 1) for i in on)  # by their places, counted from one
            if kind == element:
                told = _attributes(index=reference + 1, dependencies=depends)
                lines.append(f"      <Unknown{told}/>")
        lines.append(f"    </{element}s>")
    return "\n".join([*lines, "  </ModelStructure>", "</fmiModelDescription>", ""])


def description_3(model: Model) -> str:
    """The file modelDescription.xml of FMI 3.0."""
    common = _attributes(modelIdentifier=model.name)
    common += ' canGetAndSetFMUState="true" canSerializeFMUState="true"'
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<fmiModelDescription fmiVersion="3.0"']
    told = _attributes(modelName=model.name, instantiationToken=TOKEN, description=_summary(model))
    lines += [f" {told}", f" {_attributes(generationTool=generated().rstrip('.'))}>"]
    lines += [f"  <ModelExchange{common}/>"]
    lines += [f'  <CoSimulation{common} canHandleVariableCommunicationStepSize="true"/>']
    lines += [*_units(model), "  <ModelVariables>"]
    lines += ['    <Float64 name="time" valueReference="0" causality="independent"']
    lines += ['        variability="continuous"/>']
    for variable, attributes in _variables(model):
        lines.append(f"    <Float64{attributes}{_attributes(**_limits(variable))}/>")
    lines += ["  </ModelVariables>", "  <ModelStructure>"]
    for element, reference, on in _unknowns(model):
        told = _attributes(valueReference=reference, dependencies=" ".join(map(str, on)))
        lines.append(f"    <{element}{told}/>")
    return "\n".join([*lines, "  </ModelStructure>", "</fmiModelDescription>", ""])


def build_description(name: str) -> str:
    """The file buildDescription.xml of FMI 3.0: how to compile the source."""
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            '<fmiBuildDescription fmiVersion="3.0">',
            f"  <BuildConfiguration{_attributes(modelIdentifier=name)}>",
            '    <SourceFileSet language="C99">',
            '      <SourceFile name="fmi3.c"/>',
            "    </SourceFileSet>",
            "  </BuildConfiguration>",
            "</fmiBuildDescription>",
            "",
        ]
    )
