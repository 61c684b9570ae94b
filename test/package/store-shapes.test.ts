import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../../scripts/run-tool.ts'

/** The file of each role, and what it must export. */
const ROLES: Readonly<Record<string, RegExp>> = {
  index: /^export (async )?function |^export \{/m,
  options: /^export (function check|const )/m,
  store: /^export class \w+Store(<[^\n]*>)? (extends|implements) \w*Store/m,
  names: /^export (function|class|const) /m,
  rows: /^export (function|class|const) /m,
  transitions: /^export (function|class|const) /m,
  queries: /^export class Queries\b/m,
  push: /^export class Push\b/m,
}

/** Roles that a store does not have, with the reason. */
const WITHOUT: Readonly<Record<string, string>> = {
  'postgres/rows': 'its functions answer in JSON, with the fields of a LeaseRecord',
  'file/transitions': 'those of lease-row.ts, which store.ts applies to a loaded row',
  'registers/names': 'the stores that use it name their registers',
}

/** Folders that are not one store in files of roles. */
const OTHERS: Readonly<Record<string, string>> = {
  browser: 'what the stores of a page share',
  firestore: 'the registers of src/stores/registers',
  local: 'what all stores share',
  nats: 'the registers of src/stores/registers',
  web: 'two stores: lock-store.ts and directory-store.ts',
}

/** Other words for a role. */
const SYNONYMS =
  /^(keys|layout|listing|looking|lookup|reads?|watch|listen|migrations?|format|codec|errors)\.ts$/

const folders = globSync('src/stores/*/', { cwd: root }).map((path) => basename(path))
const stores = folders.filter((folder) => existsSync(join(root, 'src/stores', folder, 'store.ts')))

describe('a store', () => {
  it('a store with files of its own has them for each role, and every other folder has a reason', () => {
    expect(stores.length).toBeGreaterThan(6)
    expect([...stores, ...Object.keys(OTHERS)].sort()).toEqual(folders.sort())
  })

  it.each(stores)('the store %s has a file for each role, which exports what the role says', (store) => {
    const mistakes = Object.entries(ROLES).flatMap(([role, exported]) => {
      const path = join(root, 'src/stores', store, `${role}.ts`)
      if (`${store}/${role}` in WITHOUT) return existsSync(path) ? [`${role}.ts exists`] : []
      if (!existsSync(path)) return [`${role}.ts is missing`]
      return exported.test(readFileSync(path, 'utf8')) ? [] : [`${role}.ts does not export ${exported}`]
    })
    expect(mistakes).toEqual([])
  })

  it('no file of a store has another name for a role', () => {
    const files = globSync('src/stores/*/*.ts', { cwd: root })
    expect(files.filter((path) => SYNONYMS.test(basename(path)) && dirname(path) !== 'src/stores')).toEqual(
      [],
    )
  })
})
