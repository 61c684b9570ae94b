import { join } from 'node:path'
import { describe, expect, inject, it } from 'vitest'
import { manifest } from '../package/manifest.ts'
import { type PublicName, publicNames } from './declarations/mentions.ts'

const installed = join(inject('consumer'), 'node_modules/holdfast')

const entries = Object.entries(manifest.exports).flatMap(([subpath, target]) =>
  typeof target === 'string' || !target.require
    ? []
    : [{ specifier: subpath.replace(/^\./, 'holdfast'), names: publicNames(join(installed, target.types)) }],
)
const everywhere = new Set(entries.flatMap(({ names }) => names.map(({ id }) => id)))

/**
 * The shapes of the clients of databases, of which only the parts that are used are declared. A user who has such a client
 * has the types of its own package for them.
 */
const isShapeOfClient = (id: string) => id.includes('/dist/clients/')

/** Helpers of one signature, which an editor shows in full: nobody has to name them. */
const HELPERS = [
  ...['Awaitable', 'CommonProps', 'Headers', 'HookLocks', 'NodeHeaders', 'NodeResponse'],
  ...['ParsedRequest', 'ServerOptions'],
]

describe('the types of the installed package', () => {
  it.each(entries)('$specifier: what its signatures mention can be imported', ({ names }) => {
    const missing = names.flatMap(({ name, mentions }) =>
      [...mentions]
        .filter(([id, as]) => !everywhere.has(id) && !isShapeOfClient(id) && !HELPERS.includes(as))
        .map(([, mentioned]) => `${name} mentions ${mentioned}`),
    )
    expect(missing).toEqual([])
  })

  it('the types of the installed package have one meaning for each name', () => {
    const meanings = new Map<string, Map<string, string>>()
    for (const { specifier, names } of entries)
      for (const { name, id, isType } of names) {
        if (!isType) continue
        const ids = meanings.get(name) ?? new Map<string, string>()
        meanings.set(name, ids.set(id, ids.get(id) ?? specifier))
      }
    const ambiguous = [...meanings].filter(([, ids]) => ids.size > 1)
    expect(ambiguous.map(([name, ids]) => `${name} of ${[...ids.values()].join(' and ')}`)).toEqual([])
  })

  it('the check finds a type that is not exported, and a name with two meanings', () => {
    const core = entries.find(({ specifier }) => specifier === 'holdfast')?.names ?? []
    const acquire = core.find(({ name }) => name === 'Leases') as PublicName
    expect([...acquire.mentions.values()]).toEqual(expect.arrayContaining(['Lease', 'LeaseOptions']))
    expect(core.find(({ name }) => name === 'createLeases')?.isType).toBe(false)
    expect(core.find(({ name }) => name === 'LeaseError')?.isType).toBe(true)
  })
})
