// Numbers in the order of use: the ones that the builder would choose depend on the path of the folder.
module.exports = { optimization: { moduleIds: "natural", chunkIds: "natural" } };
