/** Runs on a small disk of its own, and prints the store's answers while the disk is full, and while it is read-only. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { LeaseError } from '../../../src/core/index.ts'
import { fileStore } from '../../../src/stores/file/index.ts'

export interface Outcomes {
  readonly [step: string]: string
}

const disk = process.argv[2] ?? ''
const store = fileStore(join(disk, 'locks'))
const held = { resource: 'held', id: 'a', owner: 'a', ttl: 30_000 }
const outcomes: Record<string, string> = {}

async function outcomeOf(step: string, call: Promise<unknown>): Promise<void> {
  outcomes[step] = await call.then(
    () => 'ok',
    (error) =>
      error instanceof LeaseError ? `${error.code}: ${error.message}` : `not a LeaseError: ${error}`,
  )
}

await outcomeOf('before', store.acquire(held))

mkdirSync(join(disk, 'filler'))
fill()
await outcomeOf('acquire on a full disk', store.acquire({ ...held, resource: 'other' }))
await outcomeOf('renew on a full disk', store.renew(held))
await outcomeOf('read on a full disk', store.read(['held']))
rmSync(join(disk, 'filler'), { recursive: true })
await outcomeOf('renew when there is room again', store.renew(held))

execFileSync('mount', ['-o', 'remount,ro', disk])
await outcomeOf('acquire on a read-only disk', store.acquire({ ...held, resource: 'other' }))
await outcomeOf('renew on a read-only disk', store.renew(held))
await outcomeOf('read on a read-only disk', store.read(['held']))
execFileSync('mount', ['-o', 'remount,rw', disk])
await outcomeOf('release at last', store.release(held))
await store.close()
process.stdout.write(JSON.stringify(outcomes))

function fill(): void {
  for (let n = 0; ; n++) {
    try {
      writeFileSync(join(disk, 'filler', String(n)), Buffer.alloc(4096))
    } catch {
      return
    }
  }
}
