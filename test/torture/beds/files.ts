/** Stores whose data are files of the workers' machine: on a small disk that a fault fills, if there can be one. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { SmallDisk, whyNoSmallDisk } from '../small-disk.ts'
import type { Bed } from './bed.ts'

export const openSqlite = () => onFiles((directory) => `sqlite:${join(directory, 'leases.db')}`)
export const openFile = () => onFiles((directory) => pathToFileURL(join(directory, 'leases')).href)

async function onFiles(addressIn: (directory: string) => string): Promise<Bed> {
  const disk = (await whyNoSmallDisk()) === '' ? await SmallDisk.mount() : undefined
  const directory = disk?.directory ?? (await mkdtemp(join(tmpdir(), 'holdfast-torture-')))
  return {
    ttl: 1000,
    nodes: [],
    mayCrash: 0,
    usesClockOfWorkers: true,
    disk,
    address: () => addressIn(directory),
    async [Symbol.asyncDispose]() {
      await (disk ? disk[Symbol.asyncDispose]() : rm(directory, { recursive: true }))
    },
  }
}
