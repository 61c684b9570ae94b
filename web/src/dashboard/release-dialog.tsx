import { useEffect, useRef, useState } from 'react'
import type { DashboardTexts } from './texts.ts'

interface ReleaseDialogProps {
  readonly resource: string
  readonly words: DashboardTexts
  readonly onConfirm: () => Promise<void>
  readonly onClose: () => void
}

export function ReleaseDialog({ resource, words, onConfirm, onClose }: ReleaseDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [failure, setFailure] = useState('')
  const [isRunning, setIsRunning] = useState(false)
  useEffect(() => dialog.current?.showModal(), [])
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
    <dialog ref={dialog} className="card" onClose={onClose}>
      <p>{words.releaseQuestion(resource)}</p>
      {failure && (
        <p className="failure" role="alert" title={failure}>
          {words.notReleased}
        </p>
      )}
      <div className="bar">
        <button type="button" className="danger" disabled={isRunning} onClick={() => void confirm()}>
          {words.releaseNow}
        </button>
        <button type="button" onClick={() => dialog.current?.close()}>
          {words.cancel}
        </button>
      </div>
    </dialog>
  )
}
