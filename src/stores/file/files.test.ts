import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LeaseError } from '../../core/index.ts'
import { fileError, nodeFiles } from './files.ts'

describe('the files of Node', () => {
  let root: string
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'holdfast-files-'))
  })
  afterEach(() => rm(root, { recursive: true }))
  const at = (...names: string[]) => join(root, ...names)

  it('answer what is there, and null for what is not', async () => {
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

  it('write and link only what is new, and only where there is a directory', async () => {
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

  it('move a directory only to where nothing is', async () => {
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

  it('remove a directory only when it is empty, unless it is to be a tree', async () => {
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

const systemError = (code: string) => Object.assign(new Error(`${code}: it went wrong, open 'x'`), { code })

describe('an error of the file system', () => {
  it.each(['ENOSPC', 'EDQUOT', 'EIO', 'EMFILE', 'ENFILE', 'EBUSY', 'ESTALE'])('may pass: %s', (code) => {
    expect(fileError(systemError(code))).toMatchObject({ code: 'store-unavailable', retryable: true })
  })

  it.each(['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'ENOTSUP', 'ELOOP', ''])('will not pass: %s', (code) => {
    expect(fileError(systemError(code))).toMatchObject({ code: 'store-failed', retryable: false })
  })

  it('is explained, and kept as the cause', () => {
    const cause = systemError('EACCES')
    expect(fileError(cause)).toMatchObject({
      cause,
      message: "this process may not read and write the lease directory (EACCES: it went wrong, open 'x')",
    })
  })

  it('is passed on when it is a LeaseError already', () => {
    const error = new LeaseError('closed', 'closed')
    expect(fileError(error)).toBe(error)
  })
})
