/** `node lease-server.ts <database> <port>`: a server that the torture can stop and kill. Prints its port. */
import { createServer } from 'holdfast/server/node'
import { sqliteStore } from 'holdfast/sqlite'

const [, , path = '', port = '0'] = process.argv
const server = await createServer({
  store: sqliteStore(path),
  log: () => {},
  settings: { port: Number(port), leaseTokens: [process.env.LOCKS_TOKEN ?? ''] },
})
console.log(new URL(server.url).port)
