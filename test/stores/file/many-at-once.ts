/** Run with a low limit on open files. */
import { fileStore } from '../../../src/stores/file/index.ts'

const store = fileStore(process.argv[2] ?? '')
const asks = Array.from({ length: 500 }, (_, n) => ({
  resource: `r${n}`,
  id: `${n}`,
  owner: 'x',
  ttl: 60_000,
}))
const answers = await Promise.all(asks.map((ask) => store.acquire(ask)))
const renewals = await Promise.all(asks.map((ask) => store.renew(ask)))
await store.close()
const granted = answers.filter((answer) => answer.granted).length
const renewed = renewals.filter((renewal) => renewal.ok).length
process.stdout.write(`${granted} granted, ${renewed} renewed`)
