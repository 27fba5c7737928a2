"""The robot-pushing tasks, simulated with Box2D: final distance of a pushed disc to a goal.

A Box2D world without gravity. Table friction is a joint between the (static) table and each
mover, which takes up to a given force and torque. The hand starts at rest at (rx, ry) and is
driven towards the disc, which starts at the origin:

    v*      = speed * (-rx, -ry) / |(rx, ry)| + dv,    dv ~ N(0, noise^2 I) once per evaluation
    force   = mass * gain * (v* - v),   torque = -mass * gain * omega,    for int(10 t) steps
    then 100 free steps; label y = |end of the disc - goal|

    3D    (rx, ry, t)           speed 5     hand turned by arctan(ry / rx)
    4D    (rx, ry, t, angle)    speed 10    hand turned by angle

so 3D is not a slice of 4D. Domains: rx, ry in [-5, 5], t in [1, 30], angle in [0, 2 pi].
Hand and disc may overlap at the start. The end of the disc does not depend on the goal: ends are
cached, and another goal needs no simulation. Contacts are in float32, so ends agree between
machines to about 1e-3 (3D) or 1e-2 (4D).
[3] Wang and Jegelka: Max-value entropy search, 2017.
"""

import importlib
import importlib.util
import math
import sys
import warnings
from dataclasses import asdict, dataclass
from types import ModuleType
from typing import Any

import numpy as np

from weal.benchmark.data_folders import Folder, NotAvailable, fingerprint, load_or_compute
from weal.core.arrays import Array

SIMULATION_VERSION = 1  # increase it if the simulation changes, except for constants of World


@dataclass(frozen=True, slots=True)
class World:
    """Every constant of the simulation, in Box2D's units (m, kg, s)."""

    table: float = 500.0  # half of its side
    disc_radius: float = 1.0
    disc_density: float = 0.05
    disc_friction: float = 0.01
    disc_joint: tuple[float, float] = (5.0, 2.0)  # largest force, torque
    hand_half: tuple[float, float] = (0.3, 1.0)  # the long side along local y
    hand_density: float = 0.1
    hand_friction: float = 0.1
    hand_joint: tuple[float, float] = (2.0, 2.0)
    dt: float = 0.01
    iterations: int = 10  # of velocity, and of position
    gain: float = 30.0
    steps_per_t: int = 10
    free_steps: int = 100
    speed_3d: float = 5.0
    speed_4d: float = 10.0


WORLD = World()
_LOWER = (-5.0, -5.0, 1.0, 0.0)
_UPPER = (5.0, 5.0, 30.0, 2 * math.pi)


def simulate(X: Array, dv: Array, world: World = WORLD) -> Array:
    """Ends (N, 2) of the disc for inputs X (N, 3) or (N, 4) and errors dv (N, 2) of v*.

    A row of four numbers is a 4D input. Nothing is cached here.
    """
    _check_inputs(X, dv)
    box2d = _box2d()
    return np.array(
        [_push(box2d, world, x, e) for x, e in zip(X.tolist(), dv.tolist(), strict=True)]
    )


def ends(X: Array, dv: Array, world: World = WORLD) -> Array:
    """Ends (N, 2) of the disc as from `simulate`, cached on disk."""
    settings = {"world": asdict(world), "rules": SIMULATION_VERSION, "box2d": _box2d().__version__}
    key = fingerprint(settings, X, dv)
    return load_or_compute("robot", key, (len(X), 2), lambda: simulate(X, dv, world))


@dataclass(frozen=True, slots=True)
class RobotPushing:
    """Robot pushing with d = 3 or 4 inputs towards a goal; noise 0 makes it deterministic."""

    d: int
    goal: tuple[float, float] = (4.0, 3.5)
    noise: float = 0.1
    world: World = WORLD

    def __post_init__(self) -> None:
        if self.d not in (3, 4):
            raise ValueError(f"robot pushing has 3 or 4 inputs, not {self.d}")
        if not (math.isfinite(self.noise) and self.noise >= 0):
            raise ValueError(f"noise must be a standard deviation of at least 0; got {self.noise}")

    def sample(
        self, rng: np.random.Generator, n: int, folder: Folder = None
    ) -> tuple[Array, Array]:
        """Points X (n, d) i.i.d. uniform on the domain and distances y (n,) to the goal."""
        X = rng.uniform(_LOWER[: self.d], _UPPER[: self.d], (n, self.d))
        dv = self.noise * rng.standard_normal((n, 2))
        # [1, data:robot3d, data:robot4d]
        return X, np.asarray(np.linalg.norm(ends(X, dv, self.world) - self.goal, axis=1))

    def where(self, folder: Folder = None) -> str:
        """The source of the points; NotAvailable without Box2D."""
        if importlib.util.find_spec("Box2D") is None:
            raise NotAvailable(_missing())
        return "simulated here with Box2D"


def _push(box2d: ModuleType, world: World, x: list[float], dv: list[float]) -> tuple[float, float]:
    """The disc's end for one input."""
    space = box2d.b2World(gravity=(0.0, 0.0), doSleep=True)
    disc, hand = _bodies(box2d, space, world, x)
    speed = world.speed_3d if len(x) == 3 else world.speed_4d
    r = math.hypot(x[0], x[1])
    vx, vy = -x[0] / r * speed + dv[0], -x[1] / r * speed + dv[1]
    k = hand.mass * world.gain
    for _ in range(int(world.steps_per_t * x[2])):
        v = hand.linearVelocity
        hand.ApplyForce((k * (vx - v.x), k * (vy - v.y)), hand.worldCenter, True)
        hand.ApplyTorque(-k * hand.angularVelocity, True)
        space.Step(world.dt, world.iterations, world.iterations)
    for _ in range(world.free_steps):
        space.Step(world.dt, world.iterations, world.iterations)
    return disc.position.x, disc.position.y


def _bodies(box2d: ModuleType, space: Any, world: World, x: list[float]) -> tuple[Any, Any]:
    """Disc and hand, each tied to the table by its friction joint."""
    table = space.CreateStaticBody(
        position=(0.0, 0.0), shapes=box2d.b2PolygonShape(box=(world.table, world.table))
    )
    disc = space.CreateDynamicBody(position=(0.0, 0.0), angle=0.0)
    disc.CreateCircleFixture(
        radius=world.disc_radius, density=world.disc_density, friction=world.disc_friction
    )
    hand = space.CreateDynamicBody(position=(x[0], x[1]), angle=_angle(x))
    hand.CreatePolygonFixture(
        box=world.hand_half, density=world.hand_density, friction=world.hand_friction
    )
    for body, (force, torque) in ((disc, world.disc_joint), (hand, world.hand_joint)):
        space.CreateFrictionJoint(
            bodyA=table,
            bodyB=body,
            localAnchorA=(0.0, 0.0),
            localAnchorB=(0.0, 0.0),
            maxForce=force,
            maxTorque=torque,
            collideConnected=False,
        )
    return disc, hand


def _angle(x: list[float]) -> float:
    """Angle of the hand: the fourth input, or arctan(ry / rx) without one."""
    if len(x) == 4:
        return x[3]
    return math.atan(x[1] / x[0]) if x[0] else math.copysign(math.pi / 2, x[1])


def _check_inputs(X: Array, dv: Array) -> None:
    if X.ndim != 2 or X.shape[1] not in (3, 4) or dv.shape != (len(X), 2):
        raise ValueError(
            f"X must be (N, 3) or (N, 4) and dv (N, 2); got shapes {X.shape} and {dv.shape}"
        )
    if not (np.isfinite(X).all() and np.isfinite(dv).all()):
        raise ValueError("X and dv must be finite")
    if not X[:, :2].any(axis=1).all():
        raise ValueError("a hand that starts at (0, 0) has no direction to push in")


def _missing() -> str:
    if sys.version_info >= (3, 14):
        return "robot pushing needs Box2D, which has no wheel for this Python: use 3.11 to 3.13"
    return 'robot pushing needs Box2D: pip install "weal[bench]"'


def _box2d() -> ModuleType:
    """The Box2D module; with warnings as errors, its import would end the interpreter."""
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", "builtin type [Ss]wig.* has no __module__", DeprecationWarning
        )
        try:
            return importlib.import_module("Box2D")
        except ModuleNotFoundError as error:
            raise NotAvailable(_missing()) from error
