import { useEffect, useId, useRef, useState } from 'react'
import type { LiveLease } from './live-leases.ts'
import { holderName } from './people.ts'
import type { DashboardTexts } from './texts.ts'

interface ReleaseDialogProps {
  readonly lease: LiveLease
  /** Others hold the resource too. */
  readonly isShared: boolean
  readonly words: DashboardTexts
  readonly onConfirm: () => Promise<void>
  readonly onClose: () => void
}

/** Asks before a lease is ended by force. The safe answer has the focus. */
export function ReleaseDialog({ lease, isShared, words, onConfirm, onClose }: ReleaseDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const cancel = useRef<HTMLButtonElement>(null)
  const title = useId()
  const [failure, setFailure] = useState('')
  const [isRunning, setIsRunning] = useState(false)
  const isKept = lease.state === 'kept'
  const ofHeld = isShared ? words.releaseSharedQuestion : words.releaseQuestion
  const [before, after] = (isKept ? words.releaseKeptQuestion : ofHeld).split('{name}')
  useEffect(() => {
    dialog.current?.showModal()
    cancel.current?.focus()
  }, [])
  const confirm = async () => {
    setIsRunning(true)
    try {
      await onConfirm()
      onClose()
    } catch (error) {
      setFailure((error as Error).message)
      setIsRunning(false)
    }
  }
  return (
    <dialog ref={dialog} className="card" aria-labelledby={title} onClose={onClose}>
      <h2 id={title}>{isKept ? words.releaseKeptTitle : words.releaseTitle}</h2>
      <p className="full-name mono">
        <bdi>{lease.resource}</bdi>
      </p>
      <p>
        {before}
        <bdi>{holderName(lease)}</bdi>
        {after}
      </p>
      <p className="failure" role="alert" title={failure}>
        {failure && words.notReleased}
      </p>
      <div className="bar">
        <span className="grow" />
        <button ref={cancel} type="button" onClick={() => dialog.current?.close()}>
          {words.cancel}
        </button>
        <button type="button" className="danger" disabled={isRunning} onClick={() => void confirm()}>
          {isKept ? words.releaseKeptNow : words.releaseNow}
        </button>
      </div>
    </dialog>
  )
}
