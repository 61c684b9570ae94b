/**
 * `npm run services -- redis postgres` starts these servers until Ctrl-C; without names it starts all. It prints their
 * addresses as `export` lines. Tests in a terminal with these variables use the servers instead of starting new ones.
 */
import { type ServerName, serverNames, startServices } from './services/index.ts'

const wanted = process.argv.length > 2 ? process.argv.slice(2) : serverNames
const unknown = wanted.filter((name) => !serverNames.includes(name as ServerName))
if (unknown.length > 0) {
  console.error(`unknown service ${unknown.join(', ')}; expected one of ${serverNames.join(', ')}`)
  process.exit(2)
}
await using services = await startServices(wanted as ServerName[])
for (const line of services.report) console.log(line)
for (const [name, value] of Object.entries(services.environment)) console.log(`export ${name}=${value}`)
const stop = Promise.withResolvers<void>()
process.once('SIGINT', stop.resolve)
process.once('SIGTERM', stop.resolve)
await stop.promise
