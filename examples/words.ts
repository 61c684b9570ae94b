import type { DocumentLockState, DraftStatus } from '../src/client/index.ts'

export function whoIsEditing({ phase, held, holder, place }: DocumentLockState): string {
  if (phase === 'troubled') return 'Connection trouble. You can keep typing.'
  if (held) return 'You are editing.'
  if (phase === 'waiting') return `You are in line, ${place ?? 0} before you.`
  if (phase === 'lost') return 'You are no longer editing.'
  return holder ? `${holder.name ?? 'Somebody'} is editing.` : 'Nobody is editing.'
}

export const STATUS: Readonly<Record<DraftStatus, string>> = {
  loading: 'Loading',
  saved: 'Saved',
  dirty: 'Not saved yet',
  saving: 'Saving',
  kept: 'Not saved. Your text is kept here, and saved when you edit again.',
  refused: 'The server does not accept this text. It is kept here.',
  conflict: 'Not saved: somebody else has changed the same words. Both texts are kept.',
  unreadable: 'The stored text cannot be read.',
}
