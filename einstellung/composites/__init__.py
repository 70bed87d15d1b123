"""Pictures put together from three sources: a target, a background and a co-object, two shortcuts in each. Arrays only."""
