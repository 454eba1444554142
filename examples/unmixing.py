"""Unmixing a hyperspectral scene.

Jasper Ridge: 100 x 100 pixels, 198 bands, four materials whose spectra and shares are known. Needs the data set in
the folder that PARTWISE_DATA names. Angles are those between true and found spectra; a pixel's shares are its weights
divided by their sum.
"""

import partwise as pw
from partwise.exceptions import DataNotFoundError


def main() -> None:
    try:
        scene = pw.datasets.load_jasper_ridge()
    except DataNotFoundError as error:
        print(f"skipped: {error}")
        return
    print(f"{scene.X.shape[0]} pixels, {scene.X.shape[1]} bands")

    models = {
        "SPA": pw.SPA(4),  # picks the brightest pixels first
        "SPA, normalized": pw.SPA(4, normalize=True),  # by direction: dark materials count as much
        "XRAY": pw.XRAY(4),
        "HALS from SPA": pw.HALS(4, init=pw.SPA(4, normalize=True).fit(scene.X), max_iter=100, tol=0),
    }
    for name, model in models.items():
        angles = pw.metrics.spectral_angles(model.fit(scene.X).components_, scene.components)
        print(f"{name:16} mean angle {angles.mean():4.1f} degrees, worst {angles.max():4.1f}")

    W = models["XRAY"].transform(scene.X)
    shares = W / W.sum(axis=1, keepdims=True)
    print("mean share of each material:", shares.mean(axis=0).round(2))


if __name__ == "__main__":
    main()
