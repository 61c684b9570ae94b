import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { fileStore } from '../../src/stores/file/index.ts'
import type { Outcomes } from './file/bad-disk.ts'

const IN_OWN_MOUNTS = ['--map-root-user', '--mount']
/** Mounting a small disk needs a separate mount namespace. */
const canMount = spawnSync('unshare', [...IN_OWN_MOUNTS, 'true']).status === 0

describe('a file store on a bad disk', () => {
  it.skipIf(!canMount)('says what is wrong, and works again after the disk is repaired', () => {
    const disk = mkdtempSync(join(tmpdir(), 'holdfast-disk-'))
    const script = join(import.meta.dirname, 'file', 'bad-disk.ts')
    const run = `mount -t tmpfs -o size=128k tmpfs "$1" && exec "$0" "$2" "$1"`
    try {
      const output = execFileSync(
        'unshare',
        [...IN_OWN_MOUNTS, 'sh', '-c', run, process.execPath, disk, script],
        { encoding: 'utf8' },
      )
      const full = expect.stringMatching(
        /^store-unavailable: the lease directory: ENOSPC.*; the disk is full$/,
      )
      const readOnly = expect.stringMatching(
        /^store-failed: the lease directory: EROFS.*; the file system is read-only$/,
      )
      expect(JSON.parse(output) as Outcomes).toEqual({
        before: 'ok',
        'acquire on a full disk': full,
        'renew on a full disk': full,
        'read on a full disk': 'ok',
        'renew when there is room again': 'ok',
        'acquire on a read-only disk': readOnly,
        'renew on a read-only disk': readOnly,
        'read on a read-only disk': 'ok',
        'release at last': 'ok',
      })
    } finally {
      rmSync(disk, { recursive: true })
    }
  })

  it('a file store on a bad disk opens few files at once, however many calls come together', () => {
    const directory = mkdtempSync(join(tmpdir(), 'holdfast-disk-'))
    const script = join(import.meta.dirname, 'file', 'many-at-once.ts')
    const run = 'ulimit -n 100 && exec "$0" "$1" "$2"'
    try {
      const output = execFileSync('sh', ['-c', run, process.execPath, script, directory], {
        encoding: 'utf8',
      })
      expect(output).toBe('500 granted, 500 renewed')
    } finally {
      rmSync(directory, { recursive: true })
    }
  })

  it('says that a file is where the directory should be', async () => {
    const parent = mkdtempSync(join(tmpdir(), 'holdfast-disk-'))
    writeFileSync(join(parent, 'locks'), '')
    const store = fileStore(join(parent, 'locks'))
    const ask = { resource: 'x', id: 'x', owner: 'x', ttl: 1000 }
    const failure = {
      code: 'store-failed',
      message: expect.stringMatching(/^the lease directory: E.*; a file is where a directory should be$/),
    }
    await expect(store.acquire(ask)).rejects.toMatchObject(failure)
    await expect(store.watch(() => {})).rejects.toMatchObject(failure)
    await store.close()
    rmSync(parent, { recursive: true })
  })
})
