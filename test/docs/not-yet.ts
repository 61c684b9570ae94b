/** Pages whose blocks do not follow the convention yet. For these, `test/package/snippets.ts` compiles the blocks. */
export const NOT_YET = [
  'docs/cli.md',
  'docs/laravel.md',
  'docs/operations.md',
  'docs/sharing.md',
  'docs/stores/http.md',
  'docs/telemetry.md',
  'docs/websocket.md',
]
