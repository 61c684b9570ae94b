/** Watches leases through `postgres` until it is told to end. `argv`: url, schema, the settings of the client. */
import { once } from 'node:events'
import postgres from 'postgres'
import { postgresStore } from '../../../src/stores/postgres/index.ts'

const SETTINGS = {
  default: {},
  documented: { fetch_types: false, backoff: () => 0.5 },
  patient: { backoff: () => 3600 },
}
const [url = '', schema = '', settings] = process.argv.slice(2)
const sql = postgres(url, { ...SETTINGS[settings as keyof typeof SETTINGS], onnotice: () => {} })
const store = postgresStore(sql, { schema })
const watch = () => store.watch(() => {}).catch((error) => error.retryable || Promise.reject(error))
while ((await watch()) === true);
process.send?.('watching')
await once(process, 'message')
await store.close()
await sql.end({ timeout: 1 })
process.disconnect()
