import { describe, expect, it } from 'vitest'
import { docsExamples, portOf, runExample } from './docs-example.ts'
import { browserAt, joinRoom } from './node-client.ts'

describe('the page on the server', () => {
  it.each(docsExamples('docs/server.md', 'run'))(
    'has an example that serves locks and sockets: %#',
    async ({ code }) => {
      const url = `http://127.0.0.1:${await portOf(runExample(code, 0))}`
      const socket = await joinRoom(url, '42')
      const answer = await browserAt(url).call('POST', '/api/documents/42/lock')
      expect(answer.status).toBe(200)
      socket.close()
    },
  )
})
