/** `node serve.ts <folder>`: serves the files of the folder and the API of Holdfast, and prints its address. */
import { memoryStore } from 'holdfast/memory'
import { createServer } from 'holdfast/server/node'

const [, , assets = ''] = process.argv
const server = await createServer({
  store: memoryStore(),
  assets,
  authorize: () => true,
  settings: { port: 0, rate: 0, logLevel: 'error' },
})
console.log(server.url)
process.once('SIGTERM', () => server.close())
