export { LockBanner, type LockBannerProps } from './lock-banner.tsx'
export { type LockTexts, lockTexts, type Who } from './lock-texts.ts'
export { type UseDocumentLock, useDocumentLock } from './use-document-lock.ts'
