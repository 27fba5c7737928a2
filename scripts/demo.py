"""A first active-learning run: a simulated laboratory, 400 possible experiments, 40 measured."""

import numpy as np
from rich.console import Console
from rich.table import Table

from weal import ActiveLearner

STEPS = (5, 10, 15, 20, 30, 40)


def yield_of(recipe: np.ndarray) -> float:
    """Yield in % of a reaction at a temperature (C) and a time (min), as the lab would find."""
    temperature, minutes = recipe
    rate = np.exp(0.06 * (temperature - 90.0))
    share = np.exp(-0.002 * rate * minutes) * (1.0 - np.exp(-0.05 * rate * minutes))
    return float(100.0 * share)


def true_error(learner: ActiveLearner, recipes: np.ndarray, truth: np.ndarray) -> float:
    """Root mean square error over all recipes, which only a simulation can know."""
    return float(np.sqrt(np.mean((learner.model.predict(recipes) - truth) ** 2)))


def main() -> None:
    """Run it and say what happened."""
    rng = np.random.default_rng(7)
    recipes = np.column_stack([rng.uniform(40, 140, 400), rng.uniform(1, 120, 400)])
    truth = np.array([yield_of(recipe) for recipe in recipes])
    console = Console()
    console.print(
        "A chemist has 400 possible recipes (temperature, time) and wants to know the yield of "
        f"each, but can afford to measure {STEPS[-1]}. weal picks them one at a time; beside it, "
        "a random choice.\n"
    )
    table = Table("measured", "last asked", "its yield", "error expected", "true error", "random")
    ours = ActiveLearner(pool=recipes, seed=1)
    chance = ActiveLearner(pool=recipes, acquisition="random", seed=1)
    for t in range(1, STEPS[-1] + 1):
        query, other = ours.ask(), chance.ask()
        ours.tell(query, yield_of(recipes[query]))
        chance.tell(other, yield_of(recipes[other]))
        if t in STEPS:
            temperature, minutes = recipes[query]
            table.add_row(
                f"{t}",
                f"{temperature:.0f} C {minutes:.0f} min",
                f"{yield_of(recipes[query]):.1f} %",
                f"{ours.predicted_error():.2f} %" if t >= ours.n_start else "no model yet",
                f"{true_error(ours, recipes, truth):.2f} %" if t >= ours.n_start else "",
                f"{true_error(chance, recipes, truth):.2f} %" if t >= chance.n_start else "",
            )
    console.print(table)
    best = int(np.argmax(ours.model.predict(recipes)))
    mean, std = ours.model.predict(recipes[[best]], return_std=True)
    console.print(
        f"Best recipe by the model: {recipes[best][0]:.0f} C for {recipes[best][1]:.0f} min, "
        f"yield {mean[0]:.1f} +- {std[0]:.1f} % (truth {truth[best]:.1f} %)."
    )
    weights, kernels = ours.model.weights_, ours.model.dictionary_
    first = int(np.argmax(weights))
    console.print(f"Kernel with the largest weight: {kernels[first]}, {weights[first]:.0%}.")


if __name__ == "__main__":
    main()
