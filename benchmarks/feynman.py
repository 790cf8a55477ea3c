"""The Feynman symbolic regression set (Udrescu and Tegmark, 2020) with its usual ranges.

Formulas are written in their simplest form in our units (``q*r/r**3`` as ``q/r**2``, tanh by exp).
Three need arcsin or arccos, which our units do not have: no equation of ours can be equal to them,
but it can be as good.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

__all__ = ["EQUATIONS", "FeynmanEquation"]


@dataclass(frozen=True)
class FeynmanEquation:
    """An equation of the set.

    Attributes
    ----------
    name, formula : str
        The formula is in our grammar or, with arcsin or arccos, in that of SymPy.
    ranges : dict
        Lowest and highest value of each input.
    bonus : bool
        Whether it is one of the twenty bonus equations, which are harder.
    present : bool
        Whether it is one of the 97 that older results have.
    """

    name: str
    formula: str
    ranges: dict[str, tuple[float, float]]
    bonus: bool
    present: bool

    @property
    def is_expressible(self) -> bool:
        """Whether our units can write it."""
        return "arc" not in self.formula


# name | formula | range: inputs; range: inputs …
_TABLE = """
I.6.2a    | exp(-theta**2/2)/sqrt(2*pi)                        | 1 3: theta
I.6.2     | exp(-(theta/sigma)**2/2)/(sqrt(2*pi)*sigma)        | 1 3: sigma theta
I.6.2b    | exp(-((theta - theta1)/sigma)**2/2)/(sqrt(2*pi)*sigma) | 1 3: sigma theta theta1
I.8.14    | sqrt((x2 - x1)**2 + (y2 - y1)**2)                  | 1 5: x1 x2 y1 y2
I.9.18    | G*m1*m2/((x2 - x1)**2 + (y2 - y1)**2 + (z2 - z1)**2) | 1 2: m1 m2 G x2 y2 z2; 3 4: x1 y1 z1
I.10.7    | m_0/sqrt(1 - (v/c)**2)                             | 1 5: m_0; 1 2: v; 3 10: c
I.11.19   | x1*y1 + x2*y2 + x3*y3                              | 1 5: x1 x2 x3 y1 y2 y3
I.12.1    | mu*Nn                                              | 1 5: mu Nn
I.12.2    | q1*q2/(4*pi*epsilon*r**2)                          | 1 5: q1 q2 epsilon r
I.12.4    | q1/(4*pi*epsilon*r**2)                             | 1 5: q1 epsilon r
I.12.5    | q2*Ef                                              | 1 5: q2 Ef
I.12.11   | q*(Ef + B*v*sin(theta))                            | 1 5: q Ef B v theta
I.13.4    | m*(v**2 + u**2 + w**2)/2                           | 1 5: m v u w
I.13.12   | G*m1*m2*(1/r2 - 1/r1)                              | 1 5: m1 m2 r1 r2 G
I.14.3    | m*g*z                                              | 1 5: m g z
I.14.4    | k_spring*x**2/2                                    | 1 5: k_spring x
I.15.3x   | (x - u*t)/sqrt(1 - (u/c)**2)                       | 5 10: x; 1 2: u t; 3 20: c
I.15.3t   | (t - u*x/c**2)/sqrt(1 - (u/c)**2)                  | 1 5: x t; 3 10: c; 1 2: u
I.15.1    | m_0*v/sqrt(1 - (v/c)**2)                           | 1 5: m_0; 1 2: v; 3 10: c
I.16.6    | (u + v)/(1 + u*v/c**2)                             | 1 5: c v u
I.18.4    | (m1*r1 + m2*r2)/(m1 + m2)                          | 1 5: m1 m2 r1 r2
I.18.12   | r*F*sin(theta)                                     | 1 5: r F; 0 5: theta
I.18.14   | m*r*v*sin(theta)                                   | 1 5: m r v theta
I.24.6    | m*(omega**2 + omega_0**2)*x**2/4                   | 1 3: m omega omega_0 x
I.25.13   | q/C                                                | 1 5: q C
I.27.6    | 1/(1/d1 + n/d2)                                    | 1 5: d1 d2 n
I.29.4    | omega/c                                            | 1 10: omega c
I.29.16   | sqrt(x1**2 + x2**2 - 2*x1*x2*cos(theta1 - theta2)) | 1 5: x1 x2 theta1 theta2
I.30.3    | Int_0*(sin(n*theta/2)/sin(theta/2))**2             | 1 5: Int_0 theta n
I.32.5    | q**2*a**2/(6*pi*epsilon*c**3)                      | 1 5: q a epsilon c
I.32.17   | 4/3*pi*epsilon*c*Ef**2*r**2*omega**4/(omega**2 - omega_0**2)**2 | 1 2: epsilon c Ef r omega; 3 5: omega_0
I.34.8    | q*v*B/p                                            | 1 5: q v B p
I.34.1    | omega_0/(1 - v/c)                                  | 3 10: c; 1 2: v; 1 5: omega_0
I.34.14   | (1 + v/c)*omega_0/sqrt(1 - (v/c)**2)               | 3 10: c; 1 2: v; 1 5: omega_0
I.34.27   | h*omega/(2*pi)                                     | 1 5: omega h
I.37.4    | I1 + I2 + 2*sqrt(I1*I2)*cos(delta)                 | 1 5: I1 I2 delta
I.38.12   | epsilon*h**2/(pi*m*q**2)                           | 1 5: m q h epsilon
I.39.1    | 3/2*pr*V                                           | 1 5: pr V
I.39.11   | pr*V/(gamma - 1)                                   | 2 5: gamma; 1 5: pr V
I.39.22   | n*kb*T/V                                           | 1 5: n T V kb
I.40.1    | n_0*exp(-m*g*x/(kb*T))                             | 1 5: n_0 m x T g kb
I.41.16   | h*omega**3/(2*pi**3*c**2*(exp(h*omega/(2*pi*kb*T)) - 1)) | 1 5: omega T h kb c
I.43.16   | mu_drift*q*Volt/d                                  | 1 5: mu_drift q Volt d
I.43.31   | mob*kb*T                                           | 1 5: mob T kb
I.43.43   | kb*v/((gamma - 1)*A)                               | 2 5: gamma; 1 5: kb A v
I.44.4    | n*kb*T*log(V2/V1)                                  | 1 5: n kb T V1 V2
I.47.23   | sqrt(gamma*pr/rho)                                 | 1 5: gamma pr rho
I.48.2    | m*c**2/sqrt(1 - (v/c)**2)                          | 1 5: m; 1 2: v; 3 10: c
I.50.26   | x1*(cos(omega*t) + alpha*cos(omega*t)**2)          | 1 3: x1 omega t alpha
II.2.42   | kappa*(T2 - T1)*A/d                                | 1 5: kappa T1 T2 A d
II.3.24   | Pwr/(4*pi*r**2)                                    | 1 5: Pwr r
II.4.23   | q/(4*pi*epsilon*r)                                 | 1 5: q epsilon r
II.6.11   | p_d*cos(theta)/(4*pi*epsilon*r**2)                 | 1 3: epsilon p_d theta r
II.6.15a  | 3*p_d*z*sqrt(x**2 + y**2)/(4*pi*epsilon*r**5)      | 1 3: epsilon p_d r x y z
II.6.15b  | 3*p_d*sin(2*theta)/(8*pi*epsilon*r**3)             | 1 3: epsilon p_d theta r
II.8.7    | 3*q**2/(20*pi*epsilon*d)                           | 1 5: q epsilon d
II.8.31   | epsilon*Ef**2/2                                    | 1 5: epsilon Ef
II.10.9   | sigma_den/(epsilon*(1 + chi))                      | 1 5: sigma_den epsilon chi
II.11.3   | q*Ef/(m*(omega_0**2 - omega**2))                   | 1 3: q Ef m; 3 5: omega_0; 1 2: omega
II.11.17  | n_0*(1 + p_d*Ef*cos(theta)/(kb*T))                 | 1 3: n_0 kb T theta p_d Ef
II.11.20  | n_rho*p_d**2*Ef/(3*kb*T)                           | 1 5: n_rho p_d Ef kb T
II.11.27  | n*alpha*epsilon*Ef/(1 - n*alpha/3)                 | 0 1: n alpha; 1 2: epsilon Ef
II.11.28  | 1 + n*alpha/(1 - n*alpha/3)                        | 0 1: n alpha
II.13.17  | I/(2*pi*epsilon*c**2*r)                            | 1 5: epsilon c I r
II.13.23  | rho_c_0/sqrt(1 - (v/c)**2)                         | 1 5: rho_c_0; 1 2: v; 3 10: c
II.13.34  | rho_c_0*v/sqrt(1 - (v/c)**2)                       | 1 5: rho_c_0; 1 2: v; 3 10: c
II.15.4   | -mom*B*cos(theta)                                  | 1 5: mom B theta
II.15.5   | -p_d*Ef*cos(theta)                                 | 1 5: p_d Ef theta
II.21.32  | q/(4*pi*epsilon*r*(1 - v/c))                       | 1 5: q epsilon r; 1 2: v; 3 10: c
II.24.17  | sqrt((omega/c)**2 - pi**2/d**2)                    | 4 6: omega; 1 2: c; 2 4: d
II.27.16  | epsilon*c*Ef**2                                    | 1 5: epsilon c Ef
II.27.18  | epsilon*Ef**2                                      | 1 5: epsilon Ef
II.34.2a  | q*v/(2*pi*r)                                       | 1 5: q v r
II.34.2   | q*v*r/2                                            | 1 5: q v r
II.34.11  | g_*q*B/(2*m)                                       | 1 5: g_ q B m
II.34.29a | q*h/(4*pi*m)                                       | 1 5: q h m
II.34.29b | 2*pi*g_*mom*B*Jz/h                                 | 1 5: g_ h Jz mom B
II.35.18  | n_0/(exp(mom*B/(kb*T)) + exp(-mom*B/(kb*T)))       | 1 3: n_0 kb T mom B
II.35.21  | n_rho*mom*(1 - 2/(exp(2*mom*B/(kb*T)) + 1))        | 1 5: n_rho mom B kb T
II.36.38  | mom/(kb*T)*(H + alpha*M/(epsilon*c**2))            | 1 3: mom H kb T alpha epsilon c M
II.37.1   | mom*(1 + chi)*B                                    | 1 5: mom B chi
II.38.3   | Y*A*x/d                                            | 1 5: Y A d x
II.38.14  | Y/(2*(1 + sigma))                                  | 1 5: Y sigma
III.4.32  | 1/(exp(h*omega/(2*pi*kb*T)) - 1)                   | 1 5: h omega kb T
III.4.33  | h*omega/(2*pi*(exp(h*omega/(2*pi*kb*T)) - 1))      | 1 5: h omega kb T
III.7.38  | 4*pi*mom*B/h                                       | 1 5: mom B h
III.8.54  | sin(2*pi*E_n*t/h)**2                               | 1 2: E_n t; 1 4: h
III.10.19 | mom*sqrt(Bx**2 + By**2 + Bz**2)                    | 1 5: mom Bx By Bz
III.12.43 | n*h/(2*pi)                                         | 1 5: n h
III.13.18 | 4*pi*E_n*d**2*k/h                                  | 1 5: E_n d k h
III.14.14 | I_0*(exp(q*Volt/(kb*T)) - 1)                       | 1 5: I_0; 1 2: q Volt kb T
III.15.12 | 2*U*(1 - cos(k*d))                                 | 1 5: U k d
III.15.14 | h**2/(8*pi**2*E_n*d**2)                            | 1 5: h E_n d
III.15.27 | 2*pi*alpha/(n*d)                                   | 1 5: alpha n d
III.17.37 | beta*(1 + alpha*cos(theta))                        | 1 5: beta alpha theta
III.19.51 | -m*q**4/(8*epsilon**2*h**2*n**2)                   | 1 5: m q h n epsilon
III.21.20 | -rho_c_0*q*A_vec/m                                 | 1 5: rho_c_0 q A_vec m
"""  # noqa: E501


_LATER = """
I.26.2    | arcsin(n*sin(theta2))                              | 0 1: n; 1 5: theta2
I.30.5    | arcsin(lambd/(n*d))                                | 1 2: lambd; 2 5: d; 1 5: n
III.9.52  | 2*pi*p_d*Ef*t/h*(sin((omega - omega_0)*t/2)/((omega - omega_0)*t/2))**2 | 1 3: p_d Ef t h; 1 5: omega omega_0
"""  # noqa: E501

_BONUS = """
B1        | (Z_1*Z_2*alpha*hbar*c/(4*E_n*sin(theta/2)**2))**2  | 1 2: Z_1 Z_2 alpha hbar c; 1 3: E_n theta
B2        | m*k_G/L**2*(1 + sqrt(1 + 2*E_n*L**2/(m*k_G**2))*cos(theta1 - theta2)) | 1 3: m k_G L E_n; 0 6: theta1 theta2
B3        | d*(1 - alpha**2)/(1 + alpha*cos(theta1 - theta2))  | 1 3: d; 2 4: alpha; 4 5: theta1 theta2
B4        | sqrt(2/m*(E_n - U - L**2/(2*m*r**2)))              | 1 3: m; 8 12: E_n; 1 3: U L r
B5        | 2*pi*d**1.5/sqrt(G*(m1 + m2))                      | 1 3: d G m1 m2
B6        | sqrt(1 + 2*epsilon**2*E_n*L**2/(m*(Z_1*Z_2*q**2)**2)) | 1 3: epsilon L m Z_1 Z_2 q E_n
B7        | sqrt(8*pi*G*rho/3 - alpha*c**2/d**2)               | 1 3: G rho; 1 2: alpha c; 1 3: d
B8        | E_n/(1 + E_n/(m*c**2)*(1 - cos(theta)))            | 1 3: E_n m c theta
B9        | -32/5*(G**2*m1*m2)**2*(m1 + m2)/(c*r)**5          | 1 2: G c; 1 5: m1 m2; 1 2: r
B10       | arccos((cos(theta2) - v/c)/(1 - v/c*cos(theta2)))  | 4 6: c; 1 3: v theta2
B11       | I_0*(sin(alpha/2)*sin(n*delta/2)/(alpha/2*sin(delta/2)))**2 | 1 3: I_0 alpha delta; 1 2: n
B12       | q/(4*pi*epsilon*y**2)*(4*pi*epsilon*Volt*d - q*d*y**3/(y**2 - d**2)**2) | 1 5: q; 1 3: y; 1 5: Volt; 4 6: d; 1 5: epsilon
B13       | q/(4*pi*epsilon*sqrt(r**2 + d**2 - 2*r*d*cos(alpha))) | 1 5: q; 1 3: r; 4 6: d; 0 6: alpha; 1 5: epsilon
B14       | Ef*cos(theta)*(d**3/r**2*(alpha - 1)/(alpha + 2) - r) | 1 5: Ef; 0 6: theta; 1 5: r d alpha
B15       | sqrt(1 - v**2/c**2)*omega/(1 + v/c*cos(theta))     | 5 20: c; 1 3: v; 1 5: omega; 0 6: theta
B16       | sqrt((p - q*A_vec)**2*c**2 + m**2*c**4) + q*Volt   | 1 5: m c p q A_vec Volt
B17       | (p**2 + m**2*omega**2*x**2*(1 + alpha*x/y))/(2*m)  | 1 5: m omega p y x alpha
B18       | 3/(8*pi*G)*(c**2*k_f/r**2 + H_G**2)                | 1 5: G k_f r H_G c
B19       | -1/(8*pi*G)*(c**4*k_f/r**2 + H_G**2*c**2*(1 - 2*alpha)) | 1 5: G k_f r H_G alpha c
B20       | alpha**2*h**2/(4*pi*m**2*c**2)*(omega_0/omega)**2*(omega_0/omega + omega/omega_0 - sin(beta)**2) | 1 5: omega omega_0 alpha h m c; 0 6: beta
"""  # noqa: E501


def _row(line: str, bonus: bool, present: bool) -> FeynmanEquation:
    name, formula, groups = (part.strip() for part in line.split("|"))
    ranges: dict[str, tuple[float, float]] = {}
    for group in groups.split(";"):
        bounds, inputs = group.split(":")
        low, high = (float(b) for b in bounds.split())
        ranges |= dict.fromkeys(inputs.split(), (low, high))
    formula = re.sub(r"\bpi\b", repr(math.pi), formula)
    return FeynmanEquation(name, formula, ranges, bonus, present)


EQUATIONS: tuple[FeynmanEquation, ...] = tuple(
    _row(line, bonus=table is _BONUS, present=table is _TABLE)
    for table in (_TABLE, _LATER, _BONUS)
    for line in table.strip().splitlines()
)
"""The hundred equations, then the bonus ones."""
