"""The read tools: what a model, a person or Patrol's own sweep may ask about a collected estate."""
