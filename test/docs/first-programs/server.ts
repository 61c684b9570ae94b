import { createDocumentLock } from 'holdfast/client'
import { createServer, sqliteParts } from 'holdfast/server/node'

await using server = await createServer({
  ...sqliteParts('./documents.db'),
  settings: { port: 0, logLevel: 'error', ttl: '20s', leaseTokens: ['a long random text'] },
})

// A program keeps no cookies, so it says who it is by a token.
const headers = { authorization: 'Bearer a long random text' }
const mika = createDocumentLock('minutes-42', { url: server.url, headers, name: 'Mika', clientId: 'mika' })
const ken = createDocumentLock('minutes-42', { url: server.url, headers, name: 'Ken', clientId: 'ken' })

await mika.acquire()
await mika.save('Hello')
console.log(await ken.acquire({ wait: '200ms' }), ken.state.holder?.name)
await mika.release()
console.log(await ken.acquire(), (await ken.load()).content)

await mika.close()
await ken.close()
