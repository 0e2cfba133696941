"""The names of solids (`shapes` meets them with rays) and of materials (`textures` paints them)."""

ELLIPSOID, BOX, LATHE, HANDLE = range(4)
STUDIO, WOOD, BOOK, MUG, LEAF, POT, BALL, TOY, BLOCK, CITRUS, CLOTH, PENCIL, MARBLE = range(13)
