/** Upgrades the tables of the first released version while old and new nodes use them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { messageOf } from '../../../src/base/errors.ts'
import { migrateServer, postgresDocuments } from '../../../src/server/index.ts'
import { SCHEMA_VERSION } from '../../../src/stores/postgres/install-script.ts'
import { type Bed, makeBed } from './bed.ts'

const { HOLDFAST_TEST_POSTGRES_URL: url = '' } = process.env
const FIRST_SCHEMA = readFileSync(join(import.meta.dirname, 'schema-1.sql'), 'utf8')
const RESOURCES = ['a', 'b', 'c']
const OLD_NODES = 4

/** How a node acquires and releases, whichever version it has. */
interface Node {
  acquire(resource: string, id: string): Promise<{ granted: boolean; lease?: { token: number } }>
  release(resource: string, id: string): Promise<{ ended: unknown }>
}

let bed: Bed
beforeEach(async () => {
  bed = await makeBed(url)
  await bed.admin.query(`create schema ${bed.schema}; ${FIRST_SCHEMA.replaceAll('SCHEMA', bed.schema)};
    update ${bed.table}_meta set version = 1`)
})
afterEach(() => bed[Symbol.asyncDispose]())

/** A node of the first version: the statements that it sent. */
function oldNode(): Node {
  const pool = bed.pool({ max: 1 })
  const call = async (text: string, values: readonly unknown[]) =>
    JSON.parse((await pool.query(`select ${bed.table}_${text} as answer`, [...values])).rows[0].answer)
  return {
    acquire: (resource, id) =>
      call('acquire($1, $2, $3, $4, $5, $6, $7, $8)', [resource, id, 'old', 60_000, null, '', false, null]),
    release: (resource, id) => call('release($1, $2, $3)', [resource, id, null]),
  }
}

function newNode(): Node {
  const store = bed.store()
  return {
    acquire: (resource, id) => store.acquire({ resource, id, owner: 'new', ttl: 60_000 }) as never,
    release: (resource, id) => store.release({ resource, id }),
  }
}

it('the upgrade from the first version keeps every promise while old and new nodes acquire and release', async () => {
  const holders = new Map<string, string>()
  const tokens = new Map<string, number>()
  const violations: string[] = []
  const failures: { readonly kind: string; readonly message: string }[] = []
  let isUpgraded = false
  let isOver = false
  const grants = { before: 0, after: { old: 0, new: 0 } }

  async function repeated<T>(kind: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      failures.push({ kind, message: messageOf(error) })
      return work()
    }
  }
  async function load(node: Node, kind: 'old' | 'new'): Promise<void> {
    for (let n = 0; !isOver; n++) {
      const resource = RESOURCES[n % RESOURCES.length] ?? ''
      const id = crypto.randomUUID()
      const { granted, lease } = await repeated(kind, () => node.acquire(resource, id))
      if (!granted || !lease) continue
      if (holders.has(resource)) violations.push(`${resource} has two holders`)
      if (lease.token <= (tokens.get(resource) ?? 0))
        violations.push(`${resource}: token ${lease.token} is not higher`)
      holders.set(resource, id)
      tokens.set(resource, lease.token)
      if (isUpgraded) grants.after[kind]++
      else grants.before++
      // Nobody else may release it.
      await Promise.resolve()
      holders.delete(resource)
      await repeated(kind, () => node.release(resource, id))
    }
  }

  const old = Array.from({ length: OLD_NODES }, () => load(oldNode(), 'old'))
  const documents = postgresDocuments(bed.pool(), { table: `${bed.schema}.holdfast_documents` })
  // The first version created this table without a record of its version.
  await bed.admin.query(`create table ${bed.schema}.holdfast_documents (room text primary key not null,
    fence bigint not null, holder text not null, content text, token bigint, saved_at bigint)`)
  await documents.fence('room', { token: 1, holder: 'Mika' })
  const saving = (async () => {
    for (let n = 0; !isOver; n++)
      expect(await documents.save('room', { token: 1, holder: 'Mika' }, n)).toMatchObject({ saved: true })
  })()
  await expect.poll(() => grants.before).toBeGreaterThan(100)
  await Promise.all([1, 2, 3].map(() => migrateServer(bed.pool(), { schema: bed.schema })))
  isUpgraded = true
  const young = Array.from({ length: 4 }, () => load(newNode(), 'new'))
  await expect.poll(() => Math.min(grants.after.old, grants.after.new)).toBeGreaterThan(100)
  isOver = true
  await Promise.all([...old, ...young, saving])

  expect(violations).toEqual([])
  const { rows } = await bed.admin.query(`select version from ${bed.table}_meta`)
  expect(rows).toEqual([{ version: SCHEMA_VERSION }])
  // A call of an old node that is under way during the upgrade may fail, and its repeat succeeds.
  expect(failures.length).toBeLessThanOrEqual(OLD_NODES)
  for (const failure of failures)
    expect(failure).toEqual({
      kind: 'old',
      message: expect.stringMatching(/has no field "line"|does not exist/),
    })
})
