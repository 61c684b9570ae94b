/**
 * `npm run services -- redis postgres` starts these servers, or all, until Ctrl-C: for tests that are run again
 * and again from another terminal, which takes their addresses from the lines that this prints.
 */
import { type ServerName, serverNames, startServices } from './services/index.ts'

const wanted = process.argv.length > 2 ? process.argv.slice(2) : serverNames
const unknown = wanted.filter((name) => !serverNames.includes(name as ServerName))
if (unknown.length > 0) {
  console.error(`unknown service: ${unknown.join(', ')}; there are ${serverNames.join(', ')}`)
  process.exit(2)
}
await using services = await startServices(wanted as ServerName[])
for (const line of services.report) console.log(line)
for (const [name, value] of Object.entries(services.environment)) console.log(`export ${name}=${value}`)
const stop = Promise.withResolvers<void>()
process.once('SIGINT', stop.resolve)
process.once('SIGTERM', stop.resolve)
await stop.promise
