"""The estimation methods by name."""

#: The methods' names, and their classes in `recrawl.estimation`.
METHODS = {
    "naive": "Naive",
    "lln": "LLN",
    "sa": "SA",
    "sam": "SAM",
    "mle": "MLE",
    "mm": "MomentMatching",
    "bias-reduced": "BiasReduced",
    "last-modified": "LastModified",
    "gamma": "GammaFilter",
}
WITH_PRIOR = ("gamma", "last-modified")
