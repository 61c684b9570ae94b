/**
 * The files of `project/autosave/`:
 *
 *     history/<time>.json   a save, whole and with its checksum; written once, never changed
 *     current.json          names the save that counts; replacing it is the commit
 *     index.json            what the saves are, so that a list needs little reading; written with every fifth save
 *
 * Each file is written aside and replaces the old one when its writer closes, so a crash leaves the old one. Should
 * a browser tear a file all the same, the newest save that proves itself counts.
 */
import {
  type Directory,
  type FileHandle,
  type FileWriter,
  getIfPresent,
  isMissing,
  readText,
} from './directory.ts'
import {
  decodeHead,
  decodeSave,
  type Entry,
  encodeSave,
  fileNameOf,
  HEAD_LENGTH,
  idOfFileName,
  piecesOf,
  type Save,
} from './save-file.ts'

export interface Contents {
  /** The save that counts. */
  readonly current: Entry | null
  /** All saves, newest first. */
  readonly entries: readonly Entry[]
  /** What a crash left unfinished. */
  readonly debris: readonly string[]
  /** How many saves the index does not list. */
  readonly unlisted: number
}

export interface Archive {
  /** What the directory holds now. Makes nothing. */
  look(): Promise<Contents>
  /** The save, verified; `null` when it is gone or damaged. */
  load(id: string): Promise<Save | null>
  /** Starts to write a save of this name, and the index if that is wanted. Nobody sees it before its commit. */
  draft(id: string, options: { readonly index: boolean }): Promise<Draft>
  remove(ids: readonly string[]): Promise<void>
}

export interface Draft {
  /** `entries`: what the index will list. */
  write(save: Save, entries: readonly Entry[]): Promise<void>
  /** From here on this save counts. */
  commit(): Promise<void>
  /** Brings the index up to date. */
  settle(): Promise<void>
  /** Leaves the files as they were; of a committed save, the index alone. */
  discard(): Promise<void>
}

interface Folders {
  readonly autosave: Directory
  readonly history: Directory
}

const VERSION = 1

export function createArchive(open: () => Directory | Promise<Directory>): Archive {
  /** Kept for the next save, since finding them takes longer than the commit. */
  let known: Folders | undefined

  return {
    async look() {
      const found = await folders(false)
      if (!found) return { current: null, entries: [], debris: [], unlisted: Infinity }
      const [pointer, index, ids] = await Promise.all([
        readText(found.autosave, 'current.json'),
        readText(found.autosave, 'index.json'),
        idsIn(found.history),
      ])
      const listed = new Map(parseIndex(index).map((entry) => [entry.id, entry]))
      const entries: Entry[] = []
      const debris: string[] = []
      let failure: unknown
      for (const id of ids) {
        try {
          const entry = listed.get(id) ?? (await entryOf(found.history, id))
          if (entry) entries.push(entry)
          else debris.push(id)
        } catch (error) {
          // It may be read another time: it is no debris, and stands in no other's way.
          failure = error
        }
      }
      if (failure && entries.length === 0) throw failure
      entries.sort((a, b) => (a.id < b.id ? 1 : -1))
      const named = parsePointer(pointer)
      const current = entries.find(({ id }) => id === named) ?? entries[0] ?? null
      const unlisted = listed.size > 0 ? entries.filter(({ id }) => !listed.has(id)).length : Infinity
      return { current, entries, debris, unlisted }
    },

    async load(id) {
      const found = await folders(false)
      const file = found && (await readText(found.history, fileNameOf(id)))
      const save = file ? decodeSave(file) : null
      return save?.id === id ? save : null
    },

    async draft(id, { index }) {
      let current = known && (await getIfPresent(known.autosave, 'current.json'))
      // Gone when the user has cleared the site's data. To create a file by a handle of before would, in Chromium,
      // spoil the directory for every tab; to look for one does no harm.
      if (!known || !current) {
        known = await folders(true)
        current = await known.autosave.getFileHandle('current.json', { create: true })
      }
      return openDraft(known, current, { id, index })
    },

    async remove(ids) {
      const found = known ?? (await folders(false))
      await Promise.all(ids.map((id) => found && removeFile(found.history, fileNameOf(id))))
    },
  }

  async function folders(create: true): Promise<Folders>
  async function folders(create: boolean): Promise<Folders | null>
  async function folders(create: boolean): Promise<Folders | null> {
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
}

async function openDraft(
  { autosave, history }: Folders,
  pointer: FileHandle,
  wanted: { readonly id: string; readonly index: boolean },
): Promise<Draft> {
  const { id } = wanted
  const name = fileNameOf(id)
  const [save, current, index] = await Promise.all([
    openWriter(history, name),
    pointer.createWritable(),
    wanted.index ? openWriter(autosave, 'index.json') : null,
  ])
  let isCommitted = false
  return {
    async write(content, entries) {
      const writeSave = async () => {
        for (const piece of piecesOf(encodeSave(content), content.bytes)) await save.write(piece)
      }
      await Promise.all([
        writeSave(),
        current.write(JSON.stringify({ holdfast: VERSION, savedAt: id, file: `history/${name}` })),
        index?.write(JSON.stringify({ holdfast: VERSION, saves: entries })),
      ])
      await save.close()
    },
    async commit() {
      await current.close()
      isCommitted = true
    },
    settle: async () => index?.close(),
    async discard() {
      // What is closed already cannot be aborted, and need not be.
      await Promise.allSettled([save, current, index].map((writer) => writer?.abort()))
      if (!isCommitted) await removeFile(history, name)
    },
  }
}

/** For a save that the index does not list. */
async function entryOf(history: Directory, id: string): Promise<Entry | null> {
  const entry = decodeHead((await readText(history, fileNameOf(id), HEAD_LENGTH)) ?? '')
  return entry?.id === id ? entry : null
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

/** The id of the save that counts; `null` when the file is torn or not ours. */
function parsePointer(text: string | null): string | null {
  const { holdfast, savedAt } = parseObject(text)
  return holdfast === VERSION && typeof savedAt === 'string' ? savedAt : null
}

function parseIndex(text: string | null): Entry[] {
  const { holdfast, saves } = parseObject(text)
  return holdfast === VERSION && Array.isArray(saves) ? saves.filter(isEntry) : []
}

function isEntry(value: unknown): value is Entry {
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
