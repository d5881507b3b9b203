"""Resources with memory: an id minted once for each thing, every alias it was seen under, and whether it is there.

`recognise` decides (pure), `follow` makes an estate speak in minted ids, `store` reads and writes, `merge` unites
two ids that turned out to be one thing.
"""
