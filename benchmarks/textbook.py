"""Textbook laws in one to three inputs, each as one would measure it: the suite ``small``.

Constants are realistic and not round; ranges are those of an experiment, and rows are few. How an
input is measured: ``G[a,b,n]`` is an evenly spaced grid of n values, ``L[a,b,n]`` one with equal
ratios, ``U[a,b,n]`` n random values; grids of several inputs are crossed with one another.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LAWS", "Law"]


@dataclass(frozen=True)
class Law:
    """A law with its field, its formula in our grammar, and how each input is measured."""

    name: str
    field: str
    formula: str
    inputs: dict[str, str]


# name | field | formula | input: how it is measured; input: …
_TABLE = """
decay                 | physics     | 83.7*exp(-0.0231*t)                          | t: G[0,120,13]
decay_background      | physics     | 412.6*exp(-0.187*t) + 23.4                   | t: G[0,20,21]
cooling               | physics     | 21.6 + 63.9*exp(-0.0438*t)                   | t: G[0,60,16]
barometric            | physics     | 1011.7*exp(-h/8431)                          | h: U[0,9000,10]
standard_atmosphere   | physics     | 1012.6*(1 - 2.26e-5*h)**5.256                | h: G[0,9000,13]
kepler                | physics     | 365.3*a**1.5                                 | a: L[0.39,30.1,8]
stefan_boltzmann      | physics     | 4.93e-8*T**4                                 | T: U[250,900,15]
planck                | physics     | 0.0147*f**3/(exp(0.873*f) - 1)               | f: G[0.4,12,30]
damped_swing          | physics     | 3.42*exp(-0.213*t)*cos(2.87*t)               | t: G[0,9,46]
damped_phase          | physics     | 1.86*exp(-0.094*t)*cos(1.43*t + 0.62)        | t: G[0,20,50]
tide                  | physics     | 2.31 + 1.13*cos(0.506*t - 0.83)              | t: G[0,48,49]
vibration             | engineering | 0.327*sin(31.4*t + 0.42)                     | t: U[0,1,40]
boyle                 | physics     | 23.71/V                                      | V: G[1,12,12]
van_der_waals_isotherm | physics    | 24.79/(V - 0.0427) - 3.59/V**2               | V: L[0.08,2,24]
lens                  | physics     | 1/(20.53 - 1/g)                              | g: L[0.07,2,12]
doppler               | physics     | 441.3/(1 - v/343.7)                          | v: G[0,60,11]
falling_with_drag     | physics     | 52.7*(1 - 2/(exp(0.377*t) + 1))              | t: G[0.5,12,14]
projectile_height     | physics     | 1.62 + 17.3*t - 4.905*t**2                   | t: G[0,3.4,18]
trajectory            | physics     | 0.734*x - 0.0183*x**2                        | x: U[1,38,12]
pendulum              | physics     | 2.0061*sqrt(L)                               | L: U[0.15,2.1,9]
torricelli            | physics     | 4.372*sqrt(h + 0.117)                        | h: G[0.05,1.6,12]
inverse_square        | physics     | 37.6/r**2                                    | r: G[0.4,3,10]
bragg                 | physics     | 0.5634*sin(theta)                            | theta: G[0.15,1.1,10]
resonance             | physics     | 3.47/((f - 5.83)**2 + 0.412)                 | f: G[3,9,31]
gauss_peak            | physics     | 0.47 + 6.83*exp(-(x - 3.42)**2/1.274)        | x: G[0,7,36]
rocket                | engineering | 2943*log(m/14.2)                             | m: U[20,160,12]
hooke                 | physics     | 0.83 + 12.37*x                               | x: G[0.01,0.2,6]
morse                 | chemistry   | 4.61*(1 - exp(-1.93*(r - 0.742)))**2         | r: G[0.55,3,22]
lennard_jones         | chemistry   | 3.988*((3.41/r)**12 - (3.41/r)**6)           | r: G[3.3,8,25]
arrhenius             | chemistry   | 3.87e9*exp(-8734/T)                          | T: G[290,380,10]
arrhenius_log         | chemistry   | 23.7 - 6412/T                                | T: U[280,420,12]
antoine_log           | chemistry   | 7.963 - 1668.2/(T + 228.4)                   | T: G[1,100,12]
antoine               | chemistry   | exp(18.31 - 3816.4/(T - 46.13))              | T: G[290,370,15]
magnus                | physics     | 6.107*exp(17.43*T/(241.7 + T))               | T: G[-10,40,18]
beer_lambert          | chemistry   | 0.0137 + 1.274*c                             | c: G[0.05,1.5,7]
nernst                | chemistry   | 0.3394 + 0.01285*log(c)                      | c: L[0.001,1,7]
langmuir              | chemistry   | 7.36*c/(c + 4.05)                            | c: G[1,40,11]
freundlich            | chemistry   | 2.17*c**0.413                                | c: L[0.1,80,9]
second_order_kinetics | chemistry   | 0.874/(1 + 0.0405*t)                         | t: G[0,120,13]
two_step_decay        | chemistry   | 54.2*exp(-1.83*t) + 21.7*exp(-0.124*t)       | t: L[0.05,20,24]
heat_capacity         | chemistry   | 29.13 + 0.00412*T - 152400/T**2              | T: G[300,1500,18]
michaelis_menten      | biology     | 31.7*s/(4.31 + s)                            | s: L[0.3,60,10]
hill                  | biology     | 2.74*c**2.31/(c**2.31 + 5.86)                | c: L[0.2,12,16]
dose_response         | biology     | 7.9 + 84.6/(1 + 3.18*d**1.37)                | d: L[0.01,20,18]
logistic              | biology     | 643.2/(1 + 48.7*exp(-0.527*t))               | t: G[0,18,19]
gompertz              | biology     | 118.4*exp(-4.17*exp(-0.346*t))               | t: G[0,15,16]
bertalanffy           | biology     | 47.3*(1 - 0.832*exp(-0.213*t))               | t: G[1,14,14]
kleiber               | biology     | 3.43*m**0.749                                | m: L[0.02,600,14]
species_area          | biology     | 17.3*A**0.263                                | A: L[0.5,3000,20]
ricker                | biology     | 3.91*S*exp(-0.0127*S)                        | S: U[5,300,28]
beverton_holt         | biology     | 4.37*S/(1 + 0.0183*S)                        | S: U[3,400,26]
haldane               | biology     | 0.843*s/(3.71 + s + s**2/27.4)               | s: L[0.3,200,18]
light_response        | biology     | 27.4*I/(218 + I) - 1.63                      | I: G[0,1200,13]
oral_dose             | biology     | 18.6*(exp(-0.143*t) - exp(-1.27*t))          | t: G[0.25,24,20]
seasons               | biology     | 12.3 + 4.71*sin(0.524*t + 1.07)              | t: G[1,24,24]
rc_charging           | engineering | 4.87*(1 - exp(-t/0.0317))                    | t: G[0,0.15,20]
coil_current          | engineering | 0.734*(1 - exp(-12.7*t))                     | t: U[0.005,0.4,18]
parallel_resistor     | engineering | 47.3*R/(47.3 + R)                            | R: L[2,900,10]
voltage_divider       | engineering | 9.03*R/(R + 2.21)                            | R: G[0.5,12,8]
drag                  | engineering | 1.83 + 0.0274*v**2                           | v: G[5,45,9]
thermistor            | engineering | 1/(0.001129 + 0.0002341*log(R))              | R: L[500,60000,12]
sutherland            | engineering | 1.463e-6*T**1.5/(T + 113.7)                  | T: G[220,900,18]
diode                 | engineering | 2.31e-9*exp(36.9*V)                          | V: U[0.48,0.62,15]
log_law_of_the_wall   | engineering | 5.13 + 2.44*log(z)                           | z: L[30,2000,12]
calibration_line      | engineering | 2.31 + 0.0474*x                              | x: G[10,200,9]
calibration_parabola  | engineering | 0.37 + 2.143*x - 0.0476*x**2                 | x: G[0,20,11]
calibration_cubic     | engineering | 1.27 + 0.843*x - 0.1137*x**2 + 0.00672*x**3  | x: G[0,15,16]
calibration_rational  | engineering | (1.43 + 2.87*x)/(1 + 0.173*x)                | x: G[0,25,14]
demand_power          | economics   | 1843*p**(-1.37)                              | p: G[1.2,9.5,12]
demand_line           | economics   | 764.3 - 21.7*p                               | p: G[5,30,8]
learning_curve        | economics   | 128.4*n**(-0.322)                            | n: L[1,200,10]
engel_curve           | economics   | 43.7 - 812/x                                 | x: U[25,180,14]
exponential_growth    | economics   | 2.31*exp(0.347*t)                            | t: G[0,14,15]
ideal_gas             | physics     | 8.27*T/V                                     | T: U[270,450,20]; V: U[5,40,20]
kinetic_energy        | physics     | 0.497*m*v**2                                 | m: U[0.1,4,18]; v: U[1,25,18]
gravity               | physics     | 2.74*m/r**2                                  | m: U[0.5,6,16]; r: U[0.8,4,16]
thin_lens             | physics     | g*f/(g - f)                                  | g: U[0.3,2,20]; f: U[0.05,0.2,20]
spreading             | physics     | 14.7/sqrt(t)*exp(-x**2/(1.37*t))             | x: U[0,3,40]; t: U[0.5,5,40]
doppler_two           | physics     | 437.2*(341.6 + v)/(341.6 - u)                | v: U[0,40,22]; u: U[0,40,22]
path_difference       | physics     | 1.987*d*sin(theta)                           | d: U[0.2,0.6,20]; theta: U[0.2,1.2,20]
projectile_range      | physics     | 0.1021*v**2*sin(2*a)                         | v: U[5,30,25]; a: U[0.2,1.35,25]
travelling_wave       | physics     | 1.83*sin(2.31*x - 4.17*t)                    | x: U[0,5,50]; t: U[0,3,50]
van_der_waals         | physics     | 0.08206*T/(V - 0.0427) - 3.64/V**2           | T: G[280,400,4]; V: L[0.15,3,8]
relativistic_mass     | physics     | m/sqrt(1 - b**2)                             | m: U[0.5,3,16]; b: U[0.1,0.9,16]
absorption            | chemistry   | 92.7*exp(-0.318*c*l)                         | c: G[0.2,4,5]; l: G[0.5,3,4]
reaction_rate         | chemistry   | 4.31e6*c*exp(-5217/T)                        | c: U[0.1,2,28]; T: U[300,420,28]
membrane_potential    | chemistry   | 25.69*log(a/b)                               | a: L[1,150,5]; b: L[2,80,4]
competitive_inhibitor | biology     | 42.3*s/(s + 3.17 + 2.171*i)                  | s: L[0.5,50,6]; i: G[0,6,4]
two_substrates        | biology     | 0.73*s*o/((2.17 + s)*(0.41 + o))             | s: L[0.3,30,6]; o: L[0.05,8,5]
predators             | biology     | 0.823*N/(1 + 0.121*N + 0.274*P)              | N: U[1,60,36]; P: U[0,15,36]
body_surface          | biology     | 0.00718*w**0.425*h**0.725                    | w: U[45,110,24]; h: U[150,195,24]
tree_volume           | biology     | 0.0000437*d**1.91*h**0.97                    | d: U[12,55,30]; h: U[9,34,30]
joule_heat            | engineering | 0.982*I**2*R                                 | I: U[0.2,5,16]; R: U[3,50,16]
parallel_resistors    | engineering | R*S/(R + S)                                  | R: U[10,200,24]; S: U[10,200,24]
nusselt               | engineering | 0.0231*Re**0.8*Pr**0.4                       | Re: L[4000,200000,6]; Pr: L[0.7,12,5]
pipe_flow             | engineering | 0.412*d**4/L                                 | d: U[0.5,3,20]; L: U[1,12,20]
hazen_williams        | engineering | 10.63*Q**1.852/d**4.87                       | Q: U[0.02,0.3,30]; d: U[0.15,0.6,30]
wind_chill            | engineering | 13.12 + 0.6215*T - 11.37*v**0.16 + 0.3965*T*v**0.16 | T: U[-25,5,40]; v: U[5,60,40]
wind_turbine          | engineering | 0.263*d**2*v**3                              | d: U[10,80,20]; v: U[4,14,20]
settling              | engineering | 54.5*d**2*(rho - 0.998)                      | d: U[0.1,1.5,20]; rho: U[1.2,3.5,20]
bending               | engineering | 0.0208*F*L**3                                | F: U[1,20,18]; L: U[0.5,4,18]
plane                 | engineering | 12.7 + 0.347*x - 1.83*z                      | x: U[0,50,20]; z: U[2,9,20]
interaction           | engineering | 4.31 + 0.83*x - 0.47*z + 0.216*x*z           | x: U[0,8,24]; z: U[1,12,24]
cobb_douglas          | economics   | 1.37*K**0.312*L**0.684                       | K: U[20,400,30]; L: U[10,150,30]
interest              | economics   | P*exp(0.0374*t)                              | P: U[100,900,15]; t: U[0,25,15]
inventory             | economics   | 1.446*sqrt(D*K)                              | D: U[200,5000,16]; K: U[5,60,16]
gas_law               | physics     | 8.27*n*T/V                                   | n: U[0.5,5,30]; T: U[270,450,30]; V: U[5,50,30]
attraction            | physics     | 6.67*m*M/r**2                                | m: U[0.5,4,24]; M: U[1,9,24]; r: U[0.7,3,24]
bernoulli             | physics     | p + 0.487*v**2 + 9.79*h                      | p: U[90,110,28]; v: U[0,10,28]; h: U[0,8,28]
length_of_a_vector    | physics     | sqrt(x**2 + y**2 + z**2)                     | x: U[0.5,5,40]; y: U[0.5,5,40]; z: U[0.5,5,40]
lorentz_force         | physics     | 1.602*(E + v*B)                              | E: U[0.5,8,32]; v: U[1,9,32]; B: U[0.2,3,32]
newton_cooling        | physics     | A + (T - A)*exp(-0.0473*t)                   | A: U[10,30,40]; T: U[50,95,40]; t: U[1,60,40]
radiation             | physics     | 5.51e-8*e*(T**4 - A**4)                      | e: U[0.3,0.95,40]; T: U[350,900,40]; A: U[250,320,40]
decay_rates           | chemistry   | 0.983*a*exp(-k*t)                            | a: U[1,20,36]; k: U[0.05,0.8,36]; t: U[0,6,36]
enzyme                | biology     | 17.3*E*s/(s + 2.43 + 2.793*i)                | E: U[0.5,4,48]; s: U[0.4,25,48]; i: U[0,5,48]
heat_conduction       | engineering | 0.743*A*D/d                                  | A: U[0.5,6,20]; D: U[4,40,20]; d: U[0.05,0.5,20]
pressure_loss         | engineering | 0.000979*L*v**2/d                            | L: U[5,120,26]; v: U[0.4,4,26]; d: U[0.03,0.3,26]
hazen_williams_pipe   | engineering | 10.63*L*Q**1.852/d**4.87                     | L: U[50,900,40]; Q: U[0.02,0.3,40]; d: U[0.15,0.6,40]
manning               | engineering | 0.987*R**0.667*sqrt(S)/n                     | R: U[0.2,3,36]; S: U[0.001,0.02,36]; n: U[0.012,0.05,36]
series_capacitors     | engineering | 1/(1/a + 1/b + 1/c)                          | a: U[1,10,30]; b: U[1,10,30]; c: U[1,10,30]
production            | economics   | 2.13*K**0.287*L**0.513*M**0.174              | K: U[20,400,45]; L: U[10,150,45]; M: U[5,90,45]
trade                 | economics   | 0.0174*a**0.82*b**0.71/d**0.93               | a: U[50,900,60]; b: U[50,900,60]; d: U[100,2500,60]
profit                | economics   | q*(p - c) - 37.4                             | q: U[5,60,24]; p: U[8,20,24]; c: U[2,7,24]
"""  # noqa: E501


def _row(line: str) -> Law:
    name, field, formula, inputs = (part.strip() for part in line.split("|"))
    pairs = (pair.split(":") for pair in inputs.split(";"))
    return Law(name, field, formula, {x.strip(): how.strip() for x, how in pairs})


LAWS: tuple[Law, ...] = tuple(_row(line) for line in _TABLE.strip().splitlines())
"""All laws, those of one input first."""
