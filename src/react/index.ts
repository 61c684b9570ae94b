'use client'

export {
  AutoSaveIndicator,
  type AutoSaveIndicatorProps,
  type AutoSaveTone,
} from './autosave-indicator.tsx'
export {
  type AutoSaveMessage,
  type AutoSaveText,
  type AutoSaveTexts,
  autosaveTexts,
} from './autosave-texts.ts'
export { Avatar, type AvatarProps } from './avatar.tsx'
export {
  DocumentLock,
  type DocumentLockProps,
  type DocumentView,
  type TextDocumentLockProps,
} from './document-lock.tsx'
export { DraftNotice, type DraftNoticeProps } from './draft-notice.tsx'
export { DraftStatusText, type DraftStatusTextProps } from './draft-status.tsx'
export { type DraftTexts, draftTexts } from './draft-texts.ts'
export { LockBanner, type LockBannerProps } from './lock-banner.tsx'
export { type LockTexts, lockTexts, type Who } from './lock-texts.ts'
export { People, type PeopleProps } from './people.tsx'
export type { ProjectLockStatus } from './project-lock-status.ts'
export {
  HoldfastProvider,
  type HoldfastProviderProps,
  type Language,
} from './provider.tsx'
export {
  SyncProvider,
  type SyncProviderProps,
  useEntities,
  useEntity,
  useEntityIds,
  useSync,
  useSyncSettings,
  useSyncStatus,
} from './sync.tsx'
export { TextComparison, type TextComparisonProps } from './text-comparison.tsx'
export type { Attention } from './use-attention.ts'
export { type UseAutoSave, type UseAutoSaveOptions, useAutoSave } from './use-autosave.ts'
export { type UseDocumentLock, type UseDocumentLockOptions, useDocumentLock } from './use-document-lock.ts'
export { type UseDraft, useDraft } from './use-draft.ts'
export {
  type NamedProject,
  type UseProjectLock,
  type UseProjectLockOptions,
  useProjectLock,
} from './use-project-lock.ts'
export { useSavedContent } from './use-saved-content.ts'
