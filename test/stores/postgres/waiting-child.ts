/** A process whose waiters are in the queue until it is killed. `argv`: url, schema, resource, number of waiters. */
import pg from 'pg'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { asking } from '../asking.ts'

const [url, schema = '', resource = '', count] = process.argv.slice(2)
const store = postgresStore(new pg.Pool({ connectionString: url }), { schema })
for (let n = 0; n < Number(count); n++) await store.acquire(asking(resource, { wake: () => {} }))
process.send?.('waiting')
setInterval(() => {}, 60_000)
