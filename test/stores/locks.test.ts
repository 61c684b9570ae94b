import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileStore } from '../../src/stores/file/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { describeWebLocks, realmOn } from '../locks/web-locks.ts'

const newFolder = () => mkdtemp(join(tmpdir(), 'holdfast-locks-'))
const remove = (folder: string) => rm(folder, { recursive: true, force: true })

describeWebLocks('the SQLite store', async () => {
  const folder = await newFolder()
  const path = join(folder, 'locks.db')
  return realmOn(
    async () => sqliteStore(path),
    () => remove(folder),
  )
})

describeWebLocks('the file store', async () => {
  const folder = await newFolder()
  return realmOn(
    async () => fileStore(folder),
    () => remove(folder),
  )
})
