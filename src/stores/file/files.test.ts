import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { nodeFiles } from './files.ts'

describe('the files of Node', () => {
  let root: string
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'holdfast-files-'))
  })
  afterEach(() => rm(root, { recursive: true }))
  const at = (...names: string[]) => join(root, ...names)

  it('read and list what exists, and return null for what does not', async () => {
    expect(await nodeFiles.write(at('a'), 'text')).toBe(true)
    expect(await nodeFiles.read(at('a'))).toBe('text')
    expect(await nodeFiles.read(at('b'))).toBeNull()
    expect(await nodeFiles.read(at('a', 'b'))).toBeNull()
    expect(await nodeFiles.read(root)).toBe('')
    expect(await nodeFiles.list(root)).toEqual(['a'])
    expect(await nodeFiles.list(at('b'))).toBeNull()
    expect(await nodeFiles.list(at('a'))).toBeNull()
    expect(Math.abs(Date.now() - ((await nodeFiles.changedAt(at('a'))) ?? 0))).toBeLessThan(60_000)
    expect(await nodeFiles.changedAt(at('b'))).toBeNull()
  })

  it('write and link only new names, and only in a directory that exists', async () => {
    expect(await nodeFiles.write(at('none', 'a'), 'text')).toBe(false)
    await nodeFiles.write(at('a'), 'text')
    await expect(nodeFiles.write(at('a'), 'other')).rejects.toThrow('EEXIST')
    expect(await nodeFiles.link(at('a'), at('1'))).toBe(true)
    expect(await nodeFiles.link(at('a'), at('1'))).toBe(false)
    expect(await nodeFiles.link(at('b'), at('2'))).toBe(false)
    expect(await nodeFiles.link(at('a'), at('none', '1'))).toBe(false)
    expect(await nodeFiles.remove(at('a'))).toBe(true)
    expect(await nodeFiles.remove(at('a'))).toBe(true)
    expect(await nodeFiles.remove(root)).toBe(false)
    expect(await nodeFiles.read(at('1'))).toBe('text')
  })

  it('move a directory only to a name that is free', async () => {
    await nodeFiles.makeDirectory(at('from', 'deep', 'down'))
    await nodeFiles.makeDirectory(at('from', 'deep', 'down'))
    await nodeFiles.makeDirectory(at('empty'))
    await nodeFiles.makeDirectory(at('full', 'x'))
    await nodeFiles.write(at('file'), '')
    for (const to of [['full'], ['file'], ['none', 'to']])
      expect(await nodeFiles.move(at('from'), at(...to))).toBe(false)
    expect(await nodeFiles.move(at('none'), at('to'))).toBe(false)
    expect(await nodeFiles.move(at('from'), at('empty'))).toBe(true)
    expect(await nodeFiles.list(at('empty'))).toEqual(['deep'])
  })

  it.runIf(existsSync('/proc/self'))('reject if a file system lets nobody create a directory', async () => {
    const created = nodeFiles.makeDirectory('/proc/none/deep')
    await expect(created).rejects.toThrow("ENOENT: no such file or directory, mkdir '/proc/none'")
  })

  it('remove a directory only if it is empty, and a tree always', async () => {
    await nodeFiles.makeDirectory(at('a', 'b'))
    for (const path of [at('a'), at('none')]) await nodeFiles.removeDirectory(path)
    expect(await nodeFiles.list(root)).toEqual(['a'])
    await nodeFiles.removeDirectory(at('a', 'b'))
    await nodeFiles.removeDirectory(at('a'))
    expect(await nodeFiles.list(root)).toEqual([])
    await nodeFiles.makeDirectory(at('a', 'b'))
    await nodeFiles.removeTree(at('a'))
    await nodeFiles.removeTree(at('a'))
    expect(await nodeFiles.list(root)).toEqual([])
  })
})
