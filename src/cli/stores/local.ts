import { existsSync, statfsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { EXIT } from '../exit-codes.ts'
import { Failure, usageFailure } from '../failure.ts'
import type { Concern, Opening } from './opened-store.ts'

/** What Linux calls the types of NFS, SMB and CIFS. */
const NETWORK_TYPES = [0x6969, 0x517b, 0xff534d42, 0xfe534d42]

/** The path and the parameters of an address such as `sqlite:./holdfast.db?table=locks`; the path may be relative. */
export function placeOf(address: string, { mustExist = false }: Opening) {
  const [, path = '', query = ''] = /^\w+:(?:\/\/(?=[/.]))?([^?]*)\??(.*)$/.exec(address) ?? []
  if (path === '') throw usageFailure(`${address} names no path; one is like sqlite:./holdfast.db`)
  if (mustExist && !existsSync(path))
    throw new Failure(
      EXIT.unavailable,
      `there is no ${path} yet; holdfast run makes it, or name another by --store`,
    )
  return { path, parameters: new URLSearchParams(query) }
}

/** Locks of files on another machine cannot be trusted. */
export function networkConcerns(path: string): Concern[] {
  const place = [resolve(path), dirname(resolve(path))].find((candidate) => existsSync(candidate))
  if (!place || !NETWORK_TYPES.includes(statfsSync(place).type)) return []
  return [{ about: `${path} is on a network file system`, remedy: 'use a local disk, or Postgres or Redis' }]
}
