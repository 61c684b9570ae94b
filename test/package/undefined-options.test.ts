import { expect, it } from 'vitest'
import type { AutoSaveOptions, FlushOptions, RestoreOptions } from '../../src/autosave/index.ts'
import type {
  AcquireDocumentOptions,
  DocumentLockOptions,
  DocumentLockRoomOptions,
  DraftOptions,
  FollowContentOptions,
} from '../../src/client/index.ts'
import type {
  AcquireProjectLockOptions,
  ProjectLocksOptions,
  ReleaseProjectLockOptions,
  RenewProjectLockOptions,
  RetryOptions,
} from '../../src/project/index.ts'
import type {
  AutoSaveIndicatorProps,
  DocumentLockProps,
  DraftNoticeProps,
  DraftStatusTextProps,
  HoldfastProviderProps,
  LockBannerProps,
  NamedProject,
  SyncProviderProps,
  TextComparisonProps,
  TextDocumentLockProps,
  UseAutoSaveOptions,
  UseDocumentLockOptions,
  UseProjectLockOptions,
} from '../../src/react/index.ts'

interface Options {
  readonly AutoSaveOptions: AutoSaveOptions<string>
  readonly FlushOptions: FlushOptions
  readonly RestoreOptions: RestoreOptions
  readonly AcquireDocumentOptions: AcquireDocumentOptions
  readonly DocumentLockOptions: DocumentLockOptions
  readonly DocumentLockRoomOptions: DocumentLockRoomOptions
  readonly DraftOptions: DraftOptions<string>
  readonly FollowContentOptions: FollowContentOptions<string>
  readonly AcquireProjectLockOptions: AcquireProjectLockOptions
  readonly ProjectLocksOptions: ProjectLocksOptions
  readonly ReleaseProjectLockOptions: ReleaseProjectLockOptions
  readonly RenewProjectLockOptions: RenewProjectLockOptions
  readonly RetryOptions: RetryOptions
  readonly AutoSaveIndicatorProps: AutoSaveIndicatorProps
  readonly DocumentLockProps: DocumentLockProps<number>
  readonly DraftNoticeProps: DraftNoticeProps<string>
  readonly DraftStatusTextProps: DraftStatusTextProps
  readonly HoldfastProviderProps: HoldfastProviderProps
  readonly LockBannerProps: LockBannerProps
  readonly NamedProject: NamedProject
  readonly SyncProviderProps: SyncProviderProps<object, object>
  readonly TextComparisonProps: TextComparisonProps
  readonly TextDocumentLockProps: TextDocumentLockProps
  readonly UseAutoSaveOptions: UseAutoSaveOptions<string>
  readonly UseDocumentLockOptions: UseDocumentLockOptions
  readonly UseProjectLockOptions: UseProjectLockOptions
}

/** The options that may be missing and may not be `undefined`, under `exactOptionalPropertyTypes`. */
type Refusing<T> = {
  [Name in keyof T]-?: object extends Pick<T, Name>
    ? { readonly [Own in Name]: undefined } extends Pick<T, Name>
      ? never
      : Name
    : never
}[keyof T]

type Found = { [Name in keyof Options]: Refusing<Options[Name]> }

/** The compiler refuses any other value than `never`. */
type Expected = { [Name in keyof Options]: never }
const isTested: Found extends Expected ? true : Found = true

it('every option of a page may be undefined, which the compiler checks in this file', () => {
  expect(isTested).toBe(true)
  const control: Refusing<{ readonly a?: string; readonly b?: string | undefined; readonly c: number }> = 'a'
  expect(control).toBe('a')
})
