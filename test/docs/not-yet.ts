/** Pages whose blocks do not follow the convention yet. For these, `test/package/snippets.ts` compiles the blocks. */
export const NOT_YET = [
  'README.md',
  'docs/cli.md',
  'docs/laravel.md',
  'docs/locks.md',
  'docs/operations.md',
  'docs/sharing.md',
  'docs/stores/http.md',
  'docs/stores/your-own.md',
  'docs/telemetry.md',
  'docs/testing.md',
  'docs/websocket.md',
]
