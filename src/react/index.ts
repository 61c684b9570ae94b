export { LockBanner, type LockBannerProps } from './lock-banner.tsx'
export { type LockTexts, lockTexts, type Who } from './lock-texts.ts'
export {
  SyncProvider,
  type SyncProviderProps,
  useEntities,
  useEntity,
  useEntityIds,
  useSync,
  useSyncSettings,
} from './sync.tsx'
export { type UseDocumentLock, useDocumentLock } from './use-document-lock.ts'
