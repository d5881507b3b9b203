"""How a model is reached. The only place that imports a provider's library, and only when a run needs a model."""
