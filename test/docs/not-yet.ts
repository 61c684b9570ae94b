/** Pages whose blocks do not follow the convention yet. For these, `test/package/snippets.ts` compiles the blocks. */
export const NOT_YET = ['docs/sharing.md']
