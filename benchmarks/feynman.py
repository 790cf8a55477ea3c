"""The Feynman symbolic regression set (Udrescu and Tegmark, 2020) with its usual ranges.

Formulas are written in their simplest form in our units (``q*r/r**3`` as ``q/r**2``, tanh by exp).
Left out are I.26.2 and I.30.5, which need arcsin, and III.9.52, singular within its own ranges.
"""

from __future__ import annotations

import math
import re

__all__ = ["EQUATIONS"]

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


def _row(line: str) -> tuple[str, str, dict[str, tuple[float, float]]]:
    name, formula, groups = (part.strip() for part in line.split("|"))
    ranges: dict[str, tuple[float, float]] = {}
    for group in groups.split(";"):
        bounds, inputs = group.split(":")
        low, high = (float(b) for b in bounds.split())
        ranges |= dict.fromkeys(inputs.split(), (low, high))
    return name, re.sub(r"\bpi\b", repr(math.pi), formula), ranges


EQUATIONS: tuple[tuple[str, str, dict[str, tuple[float, float]]], ...] = tuple(
    _row(line) for line in _TABLE.strip().splitlines()
)
"""Name, formula and range of each input."""
