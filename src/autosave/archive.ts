/**
 * The files of `project/autosave/`:
 *
 *     history/<time>.json   a complete save with its checksum; written once, never changed
 *     current.json          names the current save; replacing this file is the commit
 *     index.json            a list of the saves, so that listing reads few files; written with every fifth save. What it
 *                           says about a file counts only if the file has the right size
 *
 * The browser writes each file to a temporary place and replaces the old file when the writer is closed, so a crash
 * leaves the old file. If a browser damages a file nevertheless, the newest save that can be verified is the current
 * one.
 */
import {
  type Directory,
  type FileHandle,
  type FileWriter,
  getIfPresent,
  isMissing,
  readText,
} from './directory.ts'
import { AutoSaveError } from './errors.ts'
import {
  decodeHead,
  decodeSave,
  encodeSave,
  fileNameOf,
  fileSizeOf,
  HEAD_LENGTH,
  idOfFileName,
  piecesOf,
  type Save,
  type SaveInfo,
} from './save-file.ts'

export interface Contents {
  readonly current: SaveInfo | null
  /** The id that `current.json` names, even if there is no such save. */
  readonly named: string | null
  /** All saves, newest first. */
  readonly saves: readonly SaveInfo[]
  /** Ids of files that a crash left incomplete. */
  readonly incomplete: readonly string[]
  /** How many saves the index does not list. */
  readonly unlisted: number
}

export interface Archive {
  /** What the directory contains now. Creates nothing. */
  scan(): Promise<Contents>
  /** The verified save; `null`: it is missing or damaged. */
  load(id: string): Promise<Save | null>
  /** Begins to write a save, and the index if requested. The save is not the current one before its commit. */
  draft(id: string, options: { readonly index: boolean }): Promise<Draft>
  remove(ids: readonly string[]): Promise<void>
  /** Whether a save with this id could take this number of bytes now. Writes them and removes them again. */
  hasSpace(id: string, bytes: number): Promise<boolean>
}

export interface Draft {
  /** `listed`: the saves for the index. */
  write(save: Save, listed: readonly SaveInfo[]): Promise<void>
  /**
   * Makes this save the current one. Rejects with `conflict` if `current.json` does not name the save that it named
   * before: another tab has saved. `expectLock` is called right before the commit.
   */
  commit(named: string | null, expectLock: () => void): Promise<void>
  updateIndex(): Promise<void>
  /** Leaves the files as they were. After the commit, it affects only the index. */
  discard(): Promise<void>
}

interface Folders {
  readonly autosave: Directory
  readonly history: Directory
}

const VERSION = 1

type OpenRoot = () => Directory | Promise<Directory>

export function createArchive(open: OpenRoot): Archive {
  /** Kept for the next save, because opening them takes longer than the commit. */
  let known: Folders | undefined

  return {
    async scan() {
      const found = await openFolders(open, false)
      if (found) return contentsOf(found)
      return { current: null, named: null, saves: [], incomplete: [], unlisted: Infinity }
    },

    async load(id) {
      const found = await openFolders(open, false)
      const file = found && (await readText(found.history, fileNameOf(id)))
      const save = file ? decodeSave(file) : null
      return save?.id === id ? save : null
    },

    async draft(id, { index }) {
      let current = known && (await getIfPresent(known.autosave, 'current.json'))
      // The file is missing if the user has cleared the site's data. In Chromium, creating a file through an old handle
      // would break the directory for every tab. Looking for a file is harmless.
      if (!known || !current) {
        known = await openFolders(open, true)
        current = await known.autosave.getFileHandle('current.json', { create: true })
      }
      return openDraft(known, current, { id, index })
    },

    async remove(ids) {
      const found = known ?? (await openFolders(open, false))
      await Promise.all(ids.map((id) => found && removeFile(found.history, fileNameOf(id))))
    },

    async hasSpace(id, bytes) {
      if (bytes <= 0) return true
      const { history } = await openFolders(open, true)
      const writer = await openWriter(history, fileNameOf(id))
      try {
        for (const piece of piecesOf(' '.repeat(bytes), bytes)) await writer.write(piece)
        return true
      } catch {
        return false
      } finally {
        await writer.abort().catch(() => {})
        await removeFile(history, fileNameOf(id))
      }
    },
  }
}

async function openFolders(open: OpenRoot, create: true): Promise<Folders>
async function openFolders(open: OpenRoot, create: boolean): Promise<Folders | null>
async function openFolders(open: OpenRoot, create: boolean): Promise<Folders | null> {
  try {
    const root = await open()
    const project = await root.getDirectoryHandle('project', { create })
    const autosave = await project.getDirectoryHandle('autosave', { create })
    return { autosave, history: await autosave.getDirectoryHandle('history', { create }) }
  } catch (error) {
    if (!create && isMissing(error)) return null
    throw error
  }
}

async function contentsOf({ autosave, history }: Folders): Promise<Contents> {
  const [pointer, index, ids] = await Promise.all([
    readText(autosave, 'current.json'),
    readText(autosave, 'index.json'),
    idsIn(history),
  ])
  const listed = new Map(parseIndex(index).map((save) => [save.id, save]))
  const saves: SaveInfo[] = []
  const incomplete: string[] = []
  let failure: unknown
  const inspected = ids.map(async (id) => {
    try {
      const save = await inspect(history, id, listed.get(id))
      if (save) saves.push(save)
      else incomplete.push(id)
    } catch (error) {
      // The file may be readable later, so it is not incomplete. The other files count without it.
      failure = error
    }
  })
  await Promise.all(inspected)
  if (failure && saves.length === 0) throw failure
  saves.sort((a, b) => (a.id < b.id ? 1 : -1))
  const named = parsePointer(pointer)
  const newest = saves.find(({ id }) => id === named) ?? saves[0]
  // The checksum of the current save decides about conflicts and journals, so the index is not enough.
  const current = newest ? ((await readHead(history, newest.id).catch(() => null)) ?? newest) : null
  const unlisted = listed.size > 0 ? saves.filter(({ id }) => !listed.has(id)).length : Infinity
  return { current, named, saves, incomplete, unlisted }
}

/** Whether the current save has this content, and can be read: its head alone says nothing about the rest of the file. */
export async function isSaved(
  archive: Archive,
  current: SaveInfo | null,
  checksum: string,
): Promise<boolean> {
  return current?.checksum === checksum && (await archive.load(current.id).catch(() => null)) !== null
}

async function openDraft(
  { autosave, history }: Folders,
  pointer: FileHandle,
  { id, index: withIndex }: { readonly id: string; readonly index: boolean },
): Promise<Draft> {
  const name = fileNameOf(id)
  const [save, index] = await Promise.all([
    openWriter(history, name),
    withIndex ? openWriter(autosave, 'index.json') : null,
  ])
  let mayBeCurrent = false
  return {
    async write(content, listed) {
      const writeSave = async () => {
        for (const piece of piecesOf(encodeSave(content), content.bytes)) await save.write(piece)
      }
      await Promise.all([writeSave(), index?.write(JSON.stringify({ holdfast: VERSION, saves: listed }))])
      await save.close()
    },
    async commit(named, expectLock) {
      // No other tab can commit while this writer is open. Browsers without exclusive writers ignore the mode.
      const current = await pointer.createWritable({ mode: 'exclusive' })
      try {
        await current.write(JSON.stringify({ holdfast: VERSION, savedAt: id, file: `history/${name}` }))
        if (parsePointer(await readText(autosave, 'current.json')) !== named)
          throw new AutoSaveError('conflict', 'another tab saved while this tab held the lock')
        expectLock()
        mayBeCurrent = true
        await current.close()
      } catch (error) {
        await current.abort().catch(() => {})
        // The browser may have replaced the file, and failed afterwards.
        mayBeCurrent &&= parsePointer(await readText(autosave, 'current.json')) === id
        if (!mayBeCurrent) throw error
      }
    },
    updateIndex: async () => index?.close(),
    async discard() {
      // A closed writer cannot be aborted, and need not be.
      await Promise.allSettled([save, index].map((writer) => writer?.abort()))
      if (!mayBeCurrent) await removeFile(history, name)
    },
  }
}

/** What the index lists, if the file has that size. `null`: the file is incomplete or damaged. */
async function inspect(
  history: Directory,
  id: string,
  listed: SaveInfo | undefined,
): Promise<SaveInfo | null> {
  const file = listed && (await getIfPresent(history, fileNameOf(id)))
  const isAsListed = file && (await file.getFile()).size === fileSizeOf(listed)
  return isAsListed ? listed : readHead(history, id)
}

async function readHead(history: Directory, id: string): Promise<SaveInfo | null> {
  const head = (await readText(history, fileNameOf(id), HEAD_LENGTH)) ?? ''
  expectKnown(Number(/^\{"holdfast":(\d+)/.exec(head)?.[1]))
  const save = decodeHead(head)
  return save?.id === id ? save : null
}

/** What a newer version has saved is neither replaced nor removed, because nobody here knows what it is. */
function expectKnown(version: unknown): void {
  if (typeof version === 'number' && version > VERSION)
    throw new AutoSaveError('other-format', 'a newer version of Holdfast has saved here: update this page')
}

async function openWriter(directory: Directory, name: string): Promise<FileWriter> {
  const file = await directory.getFileHandle(name, { create: true })
  return file.createWritable()
}

async function removeFile(directory: Directory, name: string): Promise<void> {
  await directory.removeEntry(name).catch((error) => {
    if (!isMissing(error)) throw error
  })
}

async function idsIn(history: Directory): Promise<string[]> {
  const ids: string[] = []
  try {
    for await (const name of history.keys()) {
      const id = idOfFileName(name)
      if (id !== null) ids.push(id)
    }
  } catch (error) {
    if (!isMissing(error)) throw error
  }
  return ids
}

/** The id of the current save; `null`: the file is damaged or not ours. Throws for a newer version. */
function parsePointer(text: string | null): string | null {
  const { holdfast, savedAt } = parseObject(text)
  expectKnown(holdfast)
  return holdfast === VERSION && typeof savedAt === 'string' ? savedAt : null
}

function parseIndex(text: string | null): SaveInfo[] {
  const { holdfast, saves } = parseObject(text)
  return holdfast === VERSION && Array.isArray(saves) ? saves.filter(isSaveInfo) : []
}

function isSaveInfo(value: unknown): value is SaveInfo {
  const { id, checksum, bytes } = Object(value)
  return typeof id === 'string' && typeof checksum === 'string' && Number.isSafeInteger(bytes)
}

function parseObject(text: string | null): Record<string, unknown> {
  try {
    return Object(JSON.parse(text ?? ''))
  } catch {
    return {}
  }
}
